import { hash as digest } from 'node:crypto'

import type { Entry, Json } from '@provost/core'
import { canonicalJson, toJson } from '@provost/core'

import type { EffectRow } from './effect-row.ts'

/**
 * Returns the payload that an earlier release stated of an entry: of an audit row its content, else of the change of an
 * effect. Links of that release have one row, without a salt.
 */
export function firstPayload(entry: Entry, effect: EffectRow | undefined): string | undefined {
  if (entry.type !== 'audit') return effect && digest('sha256', canonicalJson(toJson({ ...effect })))
  const { id, at, runId, step, agent, decision, by, rule, callId, sources, evidence, sandbox } = entry
  // The keys are in canonical order, which saves sorting them.
  const said: Json = {
    agent,
    at,
    by,
    callId: callId ?? null,
    decision,
    evidence,
    id,
    rule,
    runId,
    ...(sandbox && { sandbox }),
    sources,
    step,
  }
  return digest('sha256', canonicalJson(said))
}
