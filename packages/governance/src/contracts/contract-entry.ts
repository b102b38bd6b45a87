import type { Fold, HookContext, Json } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import type { Contract } from '../provenance/contract.ts'
import { policyName } from './session-counters.ts'
import type { Turn } from './turn.ts'

/** Returns the part of the key that all entries about the contract of a turn share. */
function keyOf({ messages }: Turn, agent: string): string {
  return `${messages.length}/${messages.at(-1)?.id ?? ''}/${agent}`
}

/**
 * Returns the contract of a turn for the tools of an agent. It is derived once and then read from the log of the outermost
 * run, also after a crash and in another process.
 *
 * @param top the context of the outermost run, whose log has the turn.
 * @param agent the agent that calls the tools: a child or a handoff target may have others than the outermost run.
 */
export async function recordedContract(
  top: HookContext,
  turn: Turn,
  agent: string,
  derive: () => Contract | Promise<Contract>,
): Promise<Contract> {
  const value: Json = await top.memo(`contract/${keyOf(turn, agent)}`, async () => toJson(await derive()))
  return isContract(value) ? value : derive()
}

/** Returns the part of a contract that a child got. It is made once and then read from the log of the child. */
export async function recordedPart(child: HookContext, turn: Turn, divide: () => Contract): Promise<Contract> {
  const value: Json = await child.memo(`part/${keyOf(turn, child.agent.name)}`, () => toJson(divide()))
  return isContract(value) ? value : divide()
}

/** A log of another release may have other fields: then the contract is derived again. */
function isContract(value: unknown): value is Contract {
  return (
    isRecord(value) && value['version'] === 1 && Array.isArray(value['grants']) && Array.isArray(value['forbidden'])
  )
}

const confirmedFold: Fold<ReadonlySet<string>> = {
  key: 'governance/confirmed-contracts',
  initial: new Set(),
  apply(confirmed, entry) {
    if (entry.type !== 'memo') return confirmed
    const [, key] = entry.key.split(`/${policyName}/confirmed/`)
    return key === undefined ? confirmed : new Set([...confirmed, key].slice(-100))
  },
}

/** Returns whether a human has confirmed the contract of a turn as a whole. */
export function isConfirmed(top: HookContext, turn: Turn, agent: string): boolean {
  return top.fold(confirmedFold).has(keyOf(turn, agent))
}

/** Records that a human has confirmed the contract of a turn as a whole. */
export async function confirm(top: HookContext, turn: Turn, agent: string, by: string | undefined): Promise<void> {
  await top.memo(`confirmed/${keyOf(turn, agent)}`, () => ({ by: by ?? 'approver' }))
}
