import type { NamedModel, OneModel } from '@provost/core'

import { isCleared } from './model-access.ts'
import type { AnyModel } from './model-v3.ts'

const named = new Map<string, object>()
const aliases = new WeakMap<AnyModel, object>()

/**
 * Returns the identity of a model: the object, or the name. Two objects of one name may be two accounts.
 */
export function identityOf(spec: OneModel): object {
  const model: NamedModel = isCleared(spec) ? spec.model : spec
  if (typeof model !== 'string') return aliases.get(model) ?? model
  let identity = named.get(model)
  if (!identity) named.set(model, (identity = {}))
  return identity
}

/** A model that was created for a spec has its identity. */
export function identify(model: AnyModel, spec: OneModel): void {
  aliases.set(model, identityOf(spec))
}
