import type { ModelSpec } from '@provost/core'
import { modelName } from '@provost/provider'

/** The `provider/model` that a spec means when no tier is asked for. */
export function nameOf(spec: ModelSpec): string {
  if (typeof spec === 'string' || 'specificationVersion' in spec) return modelName(spec)
  const one = spec.balanced ?? spec.smart ?? spec.fast
  return one === undefined ? '' : modelName(one)
}
