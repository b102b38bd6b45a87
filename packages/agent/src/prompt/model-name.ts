import type { ModelSpec } from '@provost/core'
import { chooseModel, modelName } from '@provost/provider'

/** The `provider/model` that a spec means when no tier is asked for; of tiers without a model, nothing. */
export function nameOf(spec: ModelSpec): string {
  try {
    return modelName(chooseModel(spec))
  } catch {
    return ''
  }
}

/** The provider in a model's name; through a gateway, the one behind it. */
export function providerOf(model: string): string {
  const from = model.startsWith('gateway/') ? 'gateway/'.length : 0
  const slash = model.indexOf('/', from)
  return slash < 0 ? model : model.slice(0, slash)
}
