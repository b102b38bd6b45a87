import type { Entry, EntryOf, Label, Message, Timestamp } from '@provost/core'
import { positionId } from '@provost/core'

/** Who said a message, and how it got into the log. */
export interface Attribution {
  readonly messageId: string
  readonly role: Message['role']
  /** The agent that said it; for what a human or a tool said, the agent that it was said to. */
  readonly agent: string
  readonly runId: string
  readonly step: number
  /** `view`: it stands in for others in what the model sees, as a summary or an edit does. */
  readonly via: EntryOf<'message'>['via'] | 'view'
  /** The model that wrote it, as `provider/model`. */
  readonly model?: string
  readonly at: Timestamp
  readonly label?: Label
}

/**
 * Who said each message of a log, in its order: those of the log, the results of each step, and those that edits and
 * summaries put in their place.
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
    if (entry.type === 'attempt' && entry.purpose !== 'generated') answered = entry
    else if (entry.type === 'message') {
      const { message, via } = entry
      if (via === 'model') open.clear()
      for (const part of message.content) {
        if (via === 'model' && part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
      }
      const wrote = via === 'model' && answered?.runId === runId && answered.step === step ? answered.model : undefined
      yield { ...said(message, entry.agent), ...place, via, ...(wrote !== undefined && { model: wrote }) }
    } else if (entry.type === 'view') {
      for (const message of entry.with) yield { ...said(message, entry.agent), ...place, via: 'view' }
    } else if (entry.type === 'call' && entry.op === 'settled' && open.delete(entry.callId) && open.size === 0) {
      yield {
        messageId: positionId(runId, step, 'message', 'tool'),
        role: 'tool',
        agent: entry.agent,
        ...place,
        via: 'tool',
      }
    }
  }
}

function said(
  { id, role, agent, label }: Message,
  by: string,
): Pick<Attribution, 'messageId' | 'role' | 'agent' | 'label'> {
  return { messageId: id, role, agent: agent ?? by, ...(label && { label }) }
}
