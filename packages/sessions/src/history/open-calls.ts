import type { ToolCallPart } from '@provost/core'

/** A call without a result. */
export interface OpenCall {
  /** The call in the repaired history. */
  readonly call: ToolCallPart
  /** Index of its message in the given history, and in the repaired one. */
  readonly index: number
  readonly place: number
}

/** Calls without results, by their original ids, which need not be unique. */
export interface OpenCalls {
  add(callId: string, open: OpenCall): void
  /** Removes and returns the oldest call of an id. */
  take(callId: string): OpenCall | undefined
  /** Removes and returns all calls, in their order. */
  takeAll(): readonly OpenCall[]
}

/** Creates an empty set of calls. */
export function createOpenCalls(): OpenCalls {
  const waiting = new Set<OpenCall>()
  const byId = new Map<string, { readonly calls: OpenCall[]; taken: number }>()
  return {
    add(callId, open) {
      waiting.add(open)
      const known = byId.get(callId)
      if (known) known.calls.push(open)
      else byId.set(callId, { calls: [open], taken: 0 })
    },
    take(callId) {
      const known = byId.get(callId)
      const open = known?.calls[known.taken]
      if (known && open) {
        known.taken++
        waiting.delete(open)
      }
      return open
    },
    takeAll() {
      const all = [...waiting]
      waiting.clear()
      byId.clear()
      return all
    },
  }
}
