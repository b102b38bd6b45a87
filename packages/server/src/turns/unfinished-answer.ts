import type { AgentEvent, EventOf } from '@provost/core'

/** Watches the answer that a run is writing. */
export interface UnfinishedAnswer {
  /**
   * Takes the next event of a turn.
   *
   * @returns the end of an answer that its process did not finish, as that of an attempt that failed: it comes before this
   * event. The next process writes the answer anew.
   */
  take(event: AgentEvent): EventOf<'message.end'> | undefined
}

export function unfinishedAnswer(): UnfinishedAnswer {
  let open: EventOf<'message.start'> | undefined
  return {
    take(event) {
      if (event.parents.length > 0) return undefined
      if (event.type === 'message.start') {
        if (event.role === 'assistant') open = event
      } else if (event.type === 'message.end' && event.messageId === open?.messageId) open = undefined
      else if (event.type === 'agent.resumed' && open) {
        const { messageId, attempt, step } = open
        const { runId, seq, id, agent, parents, at } = event
        open = undefined
        return {
          ...{ type: 'message.end', seq, id, runId, step, agent, parents, at, messageId, attempt, discarded: true },
          message: { id: messageId, role: 'assistant', content: [], createdAt: at },
        }
      }
      return undefined
    },
  }
}
