import type { AgentEvent, EventOf } from '@provost/core'
import { assertNever, eventFilter, textOf } from '@provost/core'

/** Merges the events of several connections into the sequence that one uninterrupted reader receives. */
export interface RunEvents {
  /** Returns the event and the events that must precede it; empty if the event was already delivered. */
  take(event: AgentEvent): readonly AgentEvent[]
  /** Returns the held events: the run stays suspended. */
  release(): readonly AgentEvent[]
  /** Drops the held suspension, since the run resumes. */
  forget(): void
}

interface Answer {
  readonly runId: string
  text: string
  /** The last part with text. */
  partId: string
  /** Text of that part so far, until it ends. */
  open?: string | undefined
}

/** Other events are the same on every connection. */
const isTracked = eventFilter('run', 'message', 'text')

export function createRunEvents(): RunEvents {
  let seq = 0
  let held: AgentEvent[] = []
  /** Unfinished answers with their text so far. */
  const begun = new Map<string, Answer>()

  function given(event: AgentEvent): AgentEvent {
    return Object.freeze({ ...event, seq: ++seq })
  }

  return {
    take(event) {
      if (!isTracked(event)) return [given(event)]
      switch (event.type) {
        case 'agent.suspended':
          held.push(event)
          return []
        case 'agent.end':
          if (event.status !== 'suspended') break
          held.push(event)
          return []
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
        case 'text.start': {
          const answer = begun.get(keyOf(event))
          if (answer) Object.assign(answer, { partId: event.partId, open: '' })
          break
        }
        case 'text.delta': {
          const answer = begun.get(keyOf(event))
          if (!answer) break
          answer.text += event.delta
          answer.partId = event.partId
          if (answer.open !== undefined) answer.open += event.delta
          break
        }
        case 'text.end': {
          const answer = begun.get(keyOf(event))
          if (answer) answer.open = undefined
          break
        }
        case 'message.end': {
          const answer = begun.get(keyOf(event))
          begun.delete(keyOf(event))
          return [...(answer ? missingOf(answer, event) : []), event].map(given)
        }
        case 'agent.start':
        case 'agent.error':
          break
        default:
          assertNever(event)
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

/** Returns the rest of a text whose deltas were lost, and the end of its part. */
function missingOf({ text: before, partId, open }: Answer, event: EventOf<'message.end'>): readonly AgentEvent[] {
  const text = event.message.role === 'assistant' && !event.discarded ? textOf(event.message) : ''
  if (text === '' || !text.startsWith(before)) return []
  const { messageId, attempt, runId, step, agent, parents, at } = event
  const delta = text.slice(before.length)
  // Transient, as all events of parts are.
  const part = { seq: 0, runId, step, agent, parents, at, messageId, attempt, partId }
  return [
    ...(delta === '' ? [] : [{ ...part, type: 'text.delta' as const, id: `${event.id}~rest`, delta }]),
    ...(open === undefined ? [] : [{ ...part, type: 'text.end' as const, id: `${event.id}~end`, text: open + delta }]),
  ]
}

function keyOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}/${attempt}`
}
