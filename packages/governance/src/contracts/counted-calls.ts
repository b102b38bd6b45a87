import type { Fold, HookContext, Json, ToolResult } from '@provost/core'
import { isRecord } from '@provost/core'

import type { Turn } from './turn.ts'

/** The name of the policy's entries in the log. */
export const policyName = 'data-flow-policy'

/** The calls that count towards the contract of the present turn. */
interface CountedCalls {
  readonly turn: string
  /** Names of tools by call. */
  readonly tools: ReadonlyMap<string, string>
}

const nothing: CountedCalls = { turn: '', tools: new Map() }

/** Folds the calls that the log of the outermost run counts, its own and those of its children. */
const countedFold: Fold<CountedCalls> = {
  key: 'governance/counted-calls',
  initial: nothing,
  apply(counted, entry): CountedCalls {
    if (entry.type === 'memo' && entry.key.includes(`/${policyName}/call/`)) return withCall(counted, entry.value)
    if (entry.type === 'ext' && entry.name === policyName && isRecord(entry.data))
      return without(counted, entry.data['returned'])
    if (entry.type === 'call' && entry.op === 'settled' && hadNoEffect(entry.outcome, entry.unknown === true))
      return without(counted, entry.callId)
    return counted
  },
}

function withCall(counted: CountedCalls, value: Json): CountedCalls {
  if (!isRecord(value)) return counted
  const { turn, callId, tool } = value
  if (typeof turn !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return counted
  const before = turn === counted.turn ? counted.tools : nothing.tools
  return { turn, tools: new Map([...before, [callId, tool]]) }
}

function without(counted: CountedCalls, callId: unknown): CountedCalls {
  if (typeof callId !== 'string' || !counted.tools.has(callId)) return counted
  return { ...counted, tools: new Map([...counted.tools].filter(([id]) => id !== callId)) }
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
      const { turn, tools } = top.fold(countedFold)
      const calls = new Set<string>()
      if (turn === id) for (const [call, name] of tools) if (name === tool) calls.add(call)
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
      if (!hadNoEffect(outcome, false) || !top.fold(countedFold).tools.has(callId)) return
      await top.append(`returned/${callId}`, { returned: callId })
    },
  }
}
