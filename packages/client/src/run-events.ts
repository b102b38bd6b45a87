import type { AgentEvent } from '@provost/core'
import { textOf } from '@provost/core'

/** Merges the events of several connections into the sequence that one uninterrupted reader receives. */
export interface RunEvents {
  /** Returns the event and the events that must precede it; empty if the event was already delivered. */
  take(event: AgentEvent): readonly AgentEvent[]
  /** Returns the held events: the run stays suspended. */
  release(): readonly AgentEvent[]
  /** Drops the held suspension, since the run resumes. */
  forget(): void
}

export function createRunEvents(): RunEvents {
  let seq = 0
  let held: AgentEvent[] = []
  /** Unfinished answers with their text so far. */
  const begun = new Map<string, { runId: string; text: string; partId: string }>()

  function given(event: AgentEvent): AgentEvent {
    return Object.freeze({ ...event, seq: ++seq })
  }

  return {
    take(event) {
      if (event.type === 'agent.suspended' || (event.type === 'agent.end' && event.status === 'suspended')) {
        held.push(event)
        return []
      }
      switch (event.type) {
        case 'agent.resumed':
          // Unfinished answers of a dead process are void.
          for (const [key, { runId }] of begun) if (runId === event.runId) begun.delete(key)
          break
        case 'message.start': {
          const key = keyOf(event)
          if (begun.has(key)) return []
          begun.set(key, { runId: event.runId, text: '', partId: 'rest' })
          break
        }
        case 'text.delta': {
          const answer = begun.get(keyOf(event))
          if (answer) Object.assign(answer, { text: answer.text + event.delta, partId: event.partId })
          break
        }
        case 'message.end': {
          const answer = begun.get(keyOf(event))
          begun.delete(keyOf(event))
          const text = event.message.role === 'assistant' && !event.discarded ? textOf(event.message) : ''
          if (answer && text.length > answer.text.length && text.startsWith(answer.text)) {
            const { messageId, attempt, runId, step, agent, parents, at, id } = event
            const delta = text.slice(answer.text.length)
            const { partId } = answer
            return [
              given({
                type: 'text.delta',
                seq: 0,
                id,
                runId,
                step,
                agent,
                parents,
                at,
                messageId,
                attempt,
                partId,
                delta,
              }),
              given(event),
            ]
          }
          break
        }
        case 'agent.end':
        case 'agent.error':
        case 'agent.followup.queued':
        case 'agent.start':
        case 'agent.steered':
        case 'context.compacted':
        case 'evaluator.iteration':
        case 'extension':
        case 'fanout.child':
        case 'fanout.merged':
        case 'fanout.start':
        case 'file.generated':
        case 'governance.blocked':
        case 'governance.declassified':
        case 'governance.flagged':
        case 'handoff.end':
        case 'handoff.start':
        case 'input.requested':
        case 'input.resolved':
        case 'model.fallback':
        case 'model.retry':
        case 'progress.written':
        case 'reasoning.delta':
        case 'reasoning.end':
        case 'reasoning.start':
        case 'source.cited':
        case 'step.end':
        case 'step.start':
        case 'text.end':
        case 'text.start':
        case 'tool.approval.requested':
        case 'tool.approval.resolved':
        case 'tool.call.delta':
        case 'tool.call.end':
        case 'tool.call.start':
        case 'tool.execute.end':
        case 'tool.execute.error':
        case 'tool.execute.partial':
        case 'tool.execute.progress':
        case 'tool.execute.start':
        case 'tool.remote.requested':
        case 'tool.remote.resolved':
        case 'tool.skipped':
        case 'tool.uncertain':
        case 'turn.end':
        case 'turn.mode':
        case 'turn.start':
          break
      }
      return [given(event)]
    },
    release() {
      const events = held.map(given)
      held = []
      return events
    },
    forget() {
      held = []
    },
  }
}

function keyOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}/${attempt}`
}
