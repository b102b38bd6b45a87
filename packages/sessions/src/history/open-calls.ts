import type { ToolCallPart } from '@provost/core'

/** A call that has no result yet. */
export interface OpenCall {
  /** As it stands in the repaired history. */
  readonly call: ToolCallPart
  /** Of its message in the history that came in, and in the repaired one. */
  readonly index: number
  readonly place: number
}

/** Calls that wait for their results, by the ids they came with, which need not be unique. */
export interface OpenCalls {
  add(callId: string, open: OpenCall): void
  /** The oldest one of an id, which waits no longer. */
  take(callId: string): OpenCall | undefined
  /** All, in their order; none waits any longer. */
  takeAll(): readonly OpenCall[]
}

/** No calls yet. */
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
