/** Tool-call ids as a provider sees them: unique, never empty, `[A-Za-z0-9_-]`, at most 64 characters. */
export interface ProviderCallIds {
  /** Returns the id of a call: that of the provider if it is valid and unused. */
  ofCall(callId: string, toolCallId: string): string
  /**
   * Returns the id of the call of a result. If a provider executed the call in an earlier response, it is the latest
   * call with that id.
   */
  ofResult(callId: string, toolCallId: string): string
  /** Ids that know these and add to a copy, for messages that are sent once only. */
  fork(): ProviderCallIds
}

const maxLength = 64

function usable(toolCallId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(toolCallId)) return toolCallId
  return toolCallId.slice(0, maxLength).replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call'
}

/** An id table that falls back to the one it was forked from. */
interface IdScope {
  readonly byCall: Map<string, string>
  readonly byToolCall: Map<string, string>
  readonly taken: Map<string, number>
  readonly parent: IdScope | undefined
}

function find(shelf: IdScope, kind: 'byCall' | 'byToolCall', key: string): string | undefined {
  return shelf[kind].get(key) ?? (shelf.parent && find(shelf.parent, kind, key))
}

function timesTaken(shelf: IdScope, id: string): number {
  return shelf.taken.get(id) ?? (shelf.parent ? timesTaken(shelf.parent, id) : 0)
}

/** Ids depend only on the calls in their order, so the same history always has the same ids. */
export function createProviderCallIds(): ProviderCallIds {
  return over(undefined)
}

function over(parent: IdScope | undefined): ProviderCallIds {
  const shelf: IdScope = { byCall: new Map(), byToolCall: new Map(), taken: new Map(), parent }

  function take(callId: string, toolCallId: string): string {
    const base = usable(toolCallId)
    let count = timesTaken(shelf, base)
    let id = base
    while (count > 0 && timesTaken(shelf, id) > 0) {
      count += 1
      const suffix = `_${count}`
      id = base.slice(0, maxLength - suffix.length) + suffix
    }
    // Counting on from the last suffix keeps a thousand equal ids linear.
    shelf.taken.set(base, Math.max(count, 1))
    if (id !== base) shelf.taken.set(id, 1)
    shelf.byCall.set(callId, id)
    shelf.byToolCall.set(toolCallId, id)
    return id
  }

  return {
    ofCall: (callId, toolCallId) => find(shelf, 'byCall', callId) ?? take(callId, toolCallId),
    ofResult: (callId, toolCallId) =>
      find(shelf, 'byCall', callId) ?? find(shelf, 'byToolCall', toolCallId) ?? take(callId, toolCallId),
    fork: () => over(shelf),
  }
}
