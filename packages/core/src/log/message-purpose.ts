import type { Message, MessagePurpose } from '../messages/message.ts'
import { positionId } from '../values/id.ts'
import type { EntryOf } from './entry.ts'

type MessageEntry = Pick<EntryOf<'message'>, 'runId' | 'step' | 'via' | 'message'>

/**
 * Returns the purpose for which the runtime wrote a message entry. It is undefined for a message from outside: only an
 * entry of the runtime can be a repair request, a handoff note or an orchestrator's message.
 */
export function purposeOf(entry: MessageEntry): MessagePurpose | undefined {
  const { via, message } = entry
  return via === 'system' || via === 'model' ? (message.purpose ?? legacyPurpose(entry)) : undefined
}

/**
 * Returns whether the tool calls of a message entry are to be made: it is an answer of the model, or an orchestrator's own
 * call. A message from outside never is.
 */
export function opensCalls(entry: MessageEntry): boolean {
  return entry.via === 'model' || (entry.message.role === 'assistant' && purposeOf(entry) === 'orchestrator')
}

/** Returns the message of an entry as histories hold it: with its purpose, also in a log of an earlier release. */
export function messageOfEntry(entry: MessageEntry): Message {
  const { message } = entry
  return message.purpose === undefined ? withPurpose(message, legacyPurpose(entry)) : message
}

/** Returns the messages of a `view` entry as histories hold them: with their purposes, also in a log of an earlier release. */
export function messagesOfView(entry: Pick<EntryOf<'view'>, 'id' | 'with' | 'compacted'>): readonly Message[] {
  const purposes = entry.with.map((message) => message.purpose ?? legacyViewPurpose(entry, message))
  const isStated = entry.with.every((message, index) => message.purpose === purposes[index])
  return isStated ? entry.with : entry.with.map((message, index) => withPurpose(message, purposes[index]))
}

function withPurpose(message: Message, purpose: MessagePurpose | undefined): Message {
  return purpose === undefined ? message : Object.freeze({ ...message, purpose })
}

/**
 * Reads the purpose from the id of a message. Earlier releases wrote it nowhere else. All ids that begin with the id of
 * the run are assigned by the runtime, so a message from outside never matches.
 */
function legacyPurpose({ runId, step, via, message }: MessageEntry): MessagePurpose | undefined {
  const { id, role } = message
  if (via === 'model') {
    const isClosing = role === 'aborted' || (role === 'error' && id === positionId(runId, step, 'message', 'error'))
    return isClosing ? 'closing' : undefined
  }
  if (role !== 'user') return undefined
  if (via === 'system') return id.startsWith(`${runId}/`) ? legacySuffix(id) : undefined
  // The input of a child may contain messages of the runs above it, whose ids begin with the id of the root run.
  const end = runId.indexOf('/')
  const isTransferred = via === 'input' && end > 0 && id.startsWith(runId.slice(0, end + 1))
  return isTransferred ? legacySuffix(id) : undefined
}

function legacySuffix(id: string): MessagePurpose | undefined {
  if (id.endsWith('/message/repair')) return 'repair'
  if (id.endsWith('/message/output')) return 'output-repair'
  if (id.endsWith('/note')) return 'handoff-note'
  if (id.endsWith('/opening')) return 'opening'
  if (id.endsWith('/summary')) return 'summary'
  if (/\/saying\/[^/]*$/.test(id)) return 'orchestrator'
  return /\/view\/[^/]*\/[^/]*\/\d+$/.test(id) ? 'edit' : undefined
}

/** The id of a message that an extension added began with the id of the entry. Edits of the application had other ids. */
function legacyViewPurpose(
  { id, compacted }: Pick<EntryOf<'view'>, 'id' | 'compacted'>,
  message: Message,
): MessagePurpose | undefined {
  if (!id.includes('/view/') || !message.id.startsWith(`${id}/`)) return undefined
  return compacted ? 'summary' : 'edit'
}
