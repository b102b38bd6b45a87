import type { Fold, HookContext, Json, ToolResult } from '@provost/core'
import { isRecord } from '@provost/core'

import type { Turn } from './turn.ts'

/** The name of the policy's entries in the log. */
export const policyName = 'data-flow-policy'

/** The calls that count towards the contract of the present turn. */
interface CountedCalls {
  turn: string
  /** Names of tools by call. */
  readonly tools: Map<string, string>
}

/**
 * Folds the calls that the log of the outermost run counts, its own and those of its children. The state grows in place:
 * each reader of a log starts empty and keeps a state of its own.
 */
const countedFold: Fold<CountedCalls | undefined> = {
  key: 'governance/counted-calls',
  initial: undefined,
  apply(counted = { turn: '', tools: new Map() }, entry): CountedCalls {
    if (entry.type === 'memo' && entry.key.includes(`/${policyName}/call/`)) addCall(counted, entry.value)
    else if (entry.type === 'ext' && entry.name === policyName && isRecord(entry.data)) {
      const { returned } = entry.data
      if (typeof returned === 'string') counted.tools.delete(returned)
    } else if (entry.type === 'call' && entry.op === 'settled' && hadNoEffect(entry.outcome, entry.unknown === true))
      counted.tools.delete(entry.callId)
    return counted
  },
}

function addCall(counted: CountedCalls, value: Json): void {
  if (!isRecord(value)) return
  const { turn, callId, tool } = value
  if (typeof turn !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return
  if (turn !== counted.turn) counted.tools.clear()
  counted.turn = turn
  counted.tools.set(callId, tool)
}

/** A timeout, an abort, and an end that is unknown count: the effect may have taken place. */
export function hadNoEffect(outcome: ToolResult['outcome'], isUnknown: boolean): boolean {
  return !isUnknown && (outcome === 'denied' || outcome === 'skipped' || outcome === 'error')
}

/** Counts calls towards the contract of a turn, exactly, in all runs of a tree. */
export interface CallCounter {
  /**
   * Returns the calls of a tool in a turn, without this one, and reserves one for it: parallel children cannot both take
   * the last call.
   */
  reserve(top: HookContext, turn: Turn, tool: string, callId: string): number
  /** Records a call in the log of the outermost run, before the call runs. */
  count(top: HookContext, turn: Turn, tool: string, callId: string): Promise<void>
  /** Ends the reservation of a call that was judged. */
  release(callId: string): void
  /** Gives back the call of a child that failed before its effect. The log of a run's own calls shows this. */
  giveBack(top: HookContext, result: ToolResult): Promise<void>
}

export function callCounter(): CallCounter {
  /** Calls that are being judged, and are not in the log yet. */
  const reserved = new Map<string, { readonly turn: string; readonly tool: string }>()
  return {
    reserve(top, { id }, tool, callId) {
      const counted = top.fold(countedFold)
      const calls = new Set<string>()
      if (counted?.turn === id) for (const [call, name] of counted.tools) if (name === tool) calls.add(call)
      for (const [call, one] of reserved) if (one.turn === id && one.tool === tool) calls.add(call)
      calls.delete(callId)
      reserved.set(callId, { turn: id, tool })
      return calls.size
    },
    async count(top, { id }, tool, callId) {
      await top.memo(`call/${callId}`, () => ({ turn: id, tool, callId }))
    },
    release: (callId) => void reserved.delete(callId),
    async giveBack(top, { callId, outcome }) {
      if (!hadNoEffect(outcome, false) || !top.fold(countedFold)?.tools.has(callId)) return
      await top.append(`returned/${callId}`, { returned: callId })
    },
  }
}
