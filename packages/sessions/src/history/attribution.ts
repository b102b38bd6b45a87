import type { Entry, EntryOf, Label, Message, Timestamp } from '@provost/core'
import { assertNever, opensCalls, positionId } from '@provost/core'

/** The author of a message, and how it entered the log. */
export interface Attribution {
  readonly messageId: string
  readonly role: Message['role']
  /** Agent that wrote the message; for a message of a human or a tool, the agent that received it. */
  readonly agent: string
  readonly runId: string
  readonly step: number
  /** `view`: the message replaces others in the model's view, as a summary or an edit does. */
  readonly via: EntryOf<'message'>['via'] | 'view'
  /** Model that wrote it, as `provider/model`. */
  readonly model?: string
  readonly at: Timestamp
  readonly label?: Label
}

/**
 * Yields the author of each message of a log, in its order: messages of the log, results of each step, and replacements by
 * edits and summaries.
 *
 * @example
 * for await (const { agent, role, model } of attributionOf(store.read(sessionId))) console.log(agent, role, model)
 */
export async function* attributionOf(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
): AsyncGenerator<Attribution, void> {
  const open = new Set<string>()
  let answered: EntryOf<'attempt'> | undefined
  for await (const entry of entries) {
    const { runId, step, at } = entry
    const place = { runId, step, at }
    switch (entry.type) {
      case 'attempt':
        if (entry.purpose !== 'generated') answered = entry
        break
      case 'message': {
        const { message, via } = entry
        const opens = opensCalls(entry)
        if (opens) open.clear()
        for (const part of message.content) {
          if (opens && part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
        }
        const isOwn = via === 'model' && answered?.runId === runId && answered.step === step
        const wrote = isOwn ? answered?.model : undefined
        yield { ...rowOf(message, entry.agent), ...place, via, ...(wrote !== undefined && { model: wrote }) }
        break
      }
      case 'view':
        for (const message of entry.with) yield { ...rowOf(message, entry.agent), ...place, via: 'view' }
        break
      case 'call':
        if (entry.op !== 'settled' || !open.delete(entry.callId) || open.size > 0) break
        yield {
          messageId: positionId(runId, step, 'message', 'tool'),
          role: 'tool',
          agent: entry.agent,
          ...place,
          via: 'tool',
        }
        break
      case 'run':
      case 'wait':
      case 'resolved':
      case 'child':
      case 'handoff':
      case 'tail':
      case 'memo':
      case 'ext':
      case 'audit':
        break
      default:
        assertNever(entry)
    }
  }
}

function rowOf(
  { id, role, agent, label }: Message,
  by: string,
): Pick<Attribution, 'messageId' | 'role' | 'agent' | 'label'> {
  return { messageId: id, role, agent: agent ?? by, ...(label && { label }) }
}
