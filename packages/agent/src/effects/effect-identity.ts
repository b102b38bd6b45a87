import type { EffectScope, Json, Tool } from '@provost/core'
import { isPromise, ProvostError } from '@provost/core'
import type { EffectIdentity } from '@provost/sessions'
import { parseInput } from '@provost/tools'

import { hashJson } from '../state/entry.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

const longestKey = 512

/**
 * Returns the identity of the effect that a call may cause. Without an `effectKey`, the same tool and arguments in one tree
 * of runs are the same effect.
 *
 * @param value the parsed input.
 * @throws ProvostError `invalid-effect-key` for a key that is not a text of 1 to 512 characters, and for the scope
 *   `principal` in a run without one.
 */
export function effectIdentity(ctx: RunContext, tool: Tool, args: Json, value: unknown): EffectIdentity {
  const { tree, entryAgent, id, parentRun } = ctx
  const principal = principalOf(ctx)
  const rootRun = parentRun?.rootId ?? id
  return effectIdentityAt(
    { session: tree.effectSession, agent: entryAgent.name, principal, rootRun },
    tool,
    args,
    value,
  )
}

/** Where a call was made, as far as the identity of its effect depends on it. */
export interface EffectPlace {
  /** The session, or the one that it was forked from. */
  readonly session: string
  /** The agent that the run was started with. */
  readonly agent: string
  readonly principal: string | undefined
  readonly rootRun: string
}

/**
 * Returns the identity of the effect of a call at a place: see {@link effectIdentity}.
 *
 * @throws ProvostError `invalid-effect-key`
 */
export function effectIdentityAt(place: EffectPlace, tool: Tool, args: Json, value: unknown): EffectIdentity {
  const { effectKey, effectScope = 'session' } = tool['~tool']
  if (!effectKey) return { tool: tool.name, key: hashJson(args), scope: 'run', scopeId: place.rootRun }
  const key: unknown = effectKey(value)
  if (typeof key !== 'string' || key === '' || key.length > longestKey) {
    throw new ProvostError(
      'invalid-effect-key',
      `The effectKey of ${tool.name} returned ${typeof key === 'string' ? `${key.length} characters` : typeof key}.`,
      { hint: `Return a text of 1 to ${longestKey} characters that identifies the effect, such as an invoice number.` },
    )
  }
  return { tool: tool.name, key, scope: effectScope, scopeId: scopeIdOf(place, tool, effectScope) }
}

/** Returns the identity of the effect of a call: the one that it was admitted with, whatever `effectKey` returns now. */
export async function identityOf(ctx: RunContext, call: CallState, tool: Tool): Promise<EffectIdentity | undefined> {
  const { effect, args } = call
  if (effect) {
    const { key = hashJson(args), scope, scopeId } = effect
    return { tool: tool.name, key, scope, scopeId }
  }
  const parsed = parseInput(tool, args)
  const input = isPromise(parsed) ? await parsed : parsed
  return input.ok ? effectIdentity(ctx, tool, args, input.value) : undefined
}

function scopeIdOf({ session, agent, principal }: EffectPlace, tool: Tool, scope: Exclude<EffectScope, 'run'>): string {
  if (scope === 'session') return session
  if (scope === 'agent') return agent
  if (principal !== undefined) return principal
  throw new ProvostError(
    'invalid-effect-key',
    `${tool.name} has the effectScope "principal", and the run has no principal.`,
    { hint: 'Give the run or its session a `principal`, or use another effectScope.' },
  )
}

/** Returns the id of the principal that a run acts for. */
export function principalOf({ state, options }: RunContext): string | undefined {
  return (state.run?.principal ?? options.principal)?.id
}
