import type { ModelSpec } from '@provost/core'
import { chooseModel, modelName } from '@provost/provider'

/** Returns the `provider/model` of a spec without a tier; empty for tiers without a default model. */
export function nameOf(spec: ModelSpec): string {
  try {
    return modelName(chooseModel(spec))
  } catch {
    return ''
  }
}

/** Returns the provider in a model's name; for a gateway, the provider behind it. */
export function providerOf(model: string): string {
  const from = model.startsWith('gateway/') ? 'gateway/'.length : 0
  const slash = model.indexOf('/', from)
  return slash < 0 ? model : model.slice(0, slash)
}
