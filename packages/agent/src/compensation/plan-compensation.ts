import type { ImpossibleEffect, Json, SessionStore, Tool } from '@provost/core'
import { isPromise, mapTexts, replaceTokens } from '@provost/core'
import { effectEnd, readAttempts, readEffect } from '@provost/sessions'
import type { EffectIdentity, EffectRecord } from '@provost/sessions'
import { hasEffect, parseInput } from '@provost/tools'

import { effectIdentityAt } from '../effects/effect-identity.ts'
import { hashJson } from '../state/entry.ts'
import type { CompensateOptions } from '../types/session.ts'
import type { SettledCall } from './settled-calls.ts'
import { settledCalls } from './settled-calls.ts'
import type { KnownTools } from './undo-tool.ts'
import { undoKey, undoName } from './undo-tool.ts'

/** An effect to undo, as data: the plan is recorded before a human is asked about it. */
export interface PlannedUndo {
  readonly effect: string
  readonly callId: string
  readonly agent: string
  readonly toolName: string
  readonly input: Json
  readonly output: Json
  /** Of the effect in the ledger, if it is there. */
  readonly ledger?: EffectIdentity & { readonly attempt: number }
}

/** What a compensation does, in this order. */
export interface CompensationPlan {
  readonly effects: readonly PlannedUndo[]
  readonly impossible: readonly ImpossibleEffect[]
}

/**
 * Returns the effects of a session that took place after a moment, the last one first. Effects that were undone are left
 * out.
 *
 * @param log the log of the compensations.
 */
export async function planCompensation(
  store: SessionStore,
  sessionId: string,
  log: string,
  { toolOf }: KnownTools,
  since: CompensateOptions['since'],
): Promise<CompensationPlan> {
  const effects: PlannedUndo[] = []
  const impossible: ImpossibleEffect[] = []
  for (const call of await settledCalls(store, sessionId, since)) {
    const tool = toolOf(call.agent, call.toolName)
    const verdict = await verdictOn(store, log, call, tool)
    if (verdict === 'nothing') continue
    const { callId, agent, toolName, input } = call
    if (typeof verdict === 'string') impossible.push({ callId, toolName, reason: verdict })
    else {
      // Results come from outside: a token in one must not become the value of a secret.
      const output = withoutTokens(verdict.output)
      effects.push({ ...verdict, effect: undoKey(call), callId, agent, toolName, input, output })
    }
  }
  return { effects, impossible }
}

/** Returns JSON in which the tokens of secrets are plain text. */
export function withoutTokens(value: Json): Json {
  return mapTexts(value, (text) => replaceTokens(text, ({ kind, name }) => `[${kind} ${name}]`))
}

const incomplete = 'The log does not have its complete result.'

/** Sources of results of calls that may have caused an effect. */
const causes: ReadonlySet<string> = new Set(['executed', 'remote', 'human', 'ledger'])

/** Returns what to undo, why that is impossible, or `nothing` for a call without an effect. */
async function verdictOn(
  store: SessionStore,
  log: string,
  call: SettledCall,
  tool: Tool | undefined,
): Promise<Pick<PlannedUndo, 'output' | 'ledger'> | string> {
  const { agent, toolName, settled } = call
  const end = effectEnd(settled)
  if (!causes.has(settled.via)) return 'nothing'
  if (!tool) {
    if (settled.via === 'ledger' || end === 'failed') return 'nothing'
    return `The tool ${toolName} of agent ${agent} is not known here. Pass the agent in "agents".`
  }
  if (!hasEffect(tool)) return 'nothing'
  const name = undoName(agent, toolName)
  const undoing = await readEffect(store, { tool: name, key: undoKey(call), scope: 'session', scopeId: log })
  if (undoing?.state === 'confirmed') return 'nothing'
  const attempts = await attemptsOf(store, call, tool)
  const own = attempts.findLast(({ claim }) => claim.callId === call.callId && claim.log === call.log)
  // The result is that of another call.
  if (settled.via === 'ledger' && !own) return 'nothing'
  if (own?.state === 'compensated') return 'nothing'
  // A hook may have withheld the result of a call that took effect.
  if (end === 'failed') return own?.state === 'confirmed' ? incomplete : 'nothing'
  if (end === 'unknown') {
    const isResolved = own && (own.state === 'failed' || own !== attempts.at(-1))
    return isResolved ? 'nothing' : 'It is unknown whether it took place.'
  }
  if (!tool['~tool'].compensate) return `The tool ${toolName} has no "compensate".`
  const { value: output } = settled
  if (output === undefined) return incomplete
  if (!own) return { output }
  const { key, scope, scopeId, claim } = own
  return { output, ledger: { tool: own.tool, key, scope, scopeId, attempt: claim.attempt } }
}

/** Returns what the ledger records of the effect of a call. */
async function attemptsOf(
  store: SessionStore,
  { input, place, effect }: SettledCall,
  tool: Tool,
): Promise<readonly EffectRecord[]> {
  if (effect) {
    const { key = hashJson(input), scope, scopeId } = effect
    return readAttempts(store, { tool: tool.name, key, scope, scopeId })
  }
  const parsed = parseInput(tool, input)
  const done = isPromise(parsed) ? await parsed : parsed
  if (!done.ok) return []
  let identity: EffectIdentity
  try {
    identity = effectIdentityAt(place, tool, input, done.value)
  } catch {
    // A call whose key cannot be computed was not made under a key.
    return []
  }
  return readAttempts(store, identity)
}
