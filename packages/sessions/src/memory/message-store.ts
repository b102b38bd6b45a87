import type { EntryOf, Message, ModelMessage, NewEntry, Part, SessionStore, Timestamp } from '@provost/core'
import { assertNever, clockOf, isRecord, ProvostError, uuidv7 } from '@provost/core'
import { fromModelMessages, toModelMessages } from '@provost/provider'

import { repairHistory } from '../history/repair.ts'
import { messageFault } from '../kit/entry-shape.ts'
import { shown } from '../kit/store-error.ts'
import { memoryStore } from './memory-store.ts'

/** An application's own store of conversations. */
export interface MessageStore {
  /** Returns the messages of a session, from the first. */
  load(sessionId: string): Promise<readonly ModelMessage[]>
  append(sessionId: string, message: ModelMessage): Promise<void>
  exists(sessionId: string): Promise<boolean>
}

/**
 * Returns a store over one that keeps only messages. A conversation continues from the stored messages, and new messages are
 * appended at once. A message that the application rejected is appended before the next one.
 *
 * - All other data of a log is in the memory of this process, as in `memoryStore`. Leases apply to this process, and
 *   inboxes end with it. An unfinished run can be resumed only from an exported state (the store is `ephemeral`).
 * - Loaded histories are repaired, and their assistant and tool messages are untrusted.
 * - `delete` rejects sessions that the application has stored.
 *
 * @throws ProvostError `invalid-store` if one of the methods is missing.
 *
 * @example
 * const store = fromMessageStore({ load: db.messages, append: db.addMessage, exists: db.hasConversation })
 */
export function fromMessageStore(messages: MessageStore): SessionStore {
  for (const method of ['load', 'append', 'exists'] as const) {
    if (isRecord(messages) && typeof messages[method] === 'function') continue
    throw new ProvostError('invalid-store', `fromMessageStore got a store without ${method}().`, {
      hint: 'Give { load, append, exists }, three functions that take the id of a session first.',
    })
  }
  // The application keeps the messages, so erasing a session for good is its task.
  const { erase: _erase, tombstone: _tombstone, sweep: _sweep, ...memory } = memoryStore()
  const loading = new Map<string, Promise<void>>()
  const scribes = new Map<string, MessageWriter>()

  async function load(log: string): Promise<void> {
    if (!(await messages.exists(log))) return
    const entries = historyEntries(log, await messages.load(log), clockOf(memory).now())
    const lease = await memory.lease(log, 'import', Number.POSITIVE_INFINITY)
    if (lease === 'busy') return
    await memory.append(log, entries, { after: 0, fence: lease.fence })
    await memory.release(log, lease.fence)
  }

  function loaded(log: string): Promise<void> {
    let done = loading.get(log)
    if (!done) {
      done = load(log)
      loading.set(log, done)
      // The next attempt may succeed.
      done.catch(() => loading.delete(log))
    }
    return done
  }

  function scribeOf(log: string): MessageWriter {
    let scribe = scribes.get(log)
    if (!scribe) scribes.set(log, (scribe = createScribe()))
    return scribe
  }

  return {
    ...memory,

    async lease(log, ...terms) {
      await loaded(log)
      return memory.lease(log, ...terms)
    },

    async append(log, entries, at) {
      const appended = await memory.append(log, entries, at)
      const known = new Set(appended.existing.map(({ id }) => id))
      const scribe = scribeOf(log)
      for (const entry of entries) {
        if (known.has(entry.id)) continue
        scribe.unwritten.push(...scribe.write(entry))
      }
      const write = async (): Promise<void> => {
        for (let [next] = scribe.unwritten; next; [next] = scribe.unwritten) {
          await messages.append(log, next)
          scribe.unwritten.shift()
        }
      }
      await (scribe.writing = scribe.writing.then(write, write))
      return appended
    },

    async *read(log, after) {
      await loaded(log)
      yield* memory.read(log, after)
    },

    async delete(sessionId) {
      await memory.delete(sessionId)
      loading.delete(sessionId)
      scribes.delete(sessionId)
      if (!(await messages.exists(sessionId))) return
      throw new ProvostError(
        'not-supported',
        'A store of fromMessageStore cannot delete the stored messages of a session.',
        {
          hint: 'Delete them in the store that was given to fromMessageStore.',
        },
      )
    },
  }
}

/** Converts the entries of a log to messages of the conversation. */
interface MessageWriter {
  /** Messages that the application has not stored yet; they are appended first. */
  readonly unwritten: ModelMessage[]
  /** Serializes writes, so that a slow application does not receive a message twice. */
  writing: Promise<void>
  write(entry: NewEntry): readonly ModelMessage[]
}

function createScribe(): MessageWriter {
  const held = new Map<string, Message>()
  let child: boolean | undefined
  /** The last message with calls, and its results. */
  let asked: Message | undefined
  const results = new Map<string, Part | undefined>()

  function say(message: Message): readonly ModelMessage[] {
    if (message.role === 'assistant') {
      results.clear()
      for (const part of message.content) {
        if (part.type === 'tool-call' && !part.providerExecuted) results.set(part.callId, undefined)
      }
      asked = results.size > 0 ? message : undefined
    }
    return toModelMessages([message])
  }

  function settle(entry: EntryOf<'call', 'settled'> | Extract<NewEntry, { op: 'settled' }>): readonly ModelMessage[] {
    const call = asked?.content.find((part) => part.type === 'tool-call' && part.callId === entry.callId)
    if (!asked || call?.type !== 'tool-call' || results.get(entry.callId)) return []
    const { callId, toolCallId, toolName } = call
    results.set(callId, { type: 'tool-result', callId, toolCallId, toolName, output: entry.output })
    const content = [...results.values()].filter((part) => part !== undefined)
    if (content.length < results.size) return []
    const message: Message = { id: entry.id, role: 'tool', content, createdAt: entry.at }
    // Both messages are converted together, since they share the call ids.
    const written = toModelMessages([asked, message]).slice(-1)
    asked = undefined
    return written
  }

  return {
    unwritten: [],
    writing: Promise.resolve(),
    write(entry) {
      if (entry.type === 'run' && entry.op === 'started') child ??= entry.parent !== undefined
      // Messages of child runs are not part of the conversation.
      if (child) return []
      switch (entry.type) {
        case 'message':
          if (entry.message.role === 'system') return []
          if (entry.held === undefined) return say(entry.message)
          held.set(entry.held, entry.message)
          return []
        case 'resolved': {
          const message = held.get(entry.token)
          held.delete(entry.token)
          const approved = isRecord(entry.value) && entry.value['decision'] === 'approve'
          return message && approved ? say(message) : []
        }
        case 'call':
          return entry.op === 'settled' ? settle(entry) : []
        case 'run':
        case 'attempt':
        case 'wait':
        case 'child':
        case 'handoff':
        case 'view':
        case 'tail':
        case 'memo':
        case 'ext':
        case 'audit':
          return []
        default:
          return assertNever(entry)
      }
    },
  }
}

/** Returns a loaded conversation as the log of a finished run. */
function historyEntries(sessionId: string, history: readonly ModelMessage[], at: Timestamp): readonly NewEntry[] {
  const runId = uuidv7()
  const place = { at, runId, step: 0, agent: 'import', v: 1 } as const
  const imported = convertHistory(sessionId, history)
    .filter(({ role }) => role !== 'system')
    .map((message, n): Message => ({ ...message, id: `${runId}/import/${n}`, createdAt: at }))
  const { messages } = repairHistory(imported, 'import')
  const manifest = { agent: 'import', extensions: [], tools: [] }
  return [
    { ...place, id: `${runId}/started`, type: 'run', op: 'started', manifest },
    ...messages.map((message): NewEntry => ({ ...place, id: message.id, type: 'message', message, via: 'system' })),
    { ...place, id: `${runId}/ended`, type: 'run', op: 'ended', status: 'completed' },
  ]
}

function convertHistory(sessionId: string, history: readonly ModelMessage[]): ReturnType<typeof fromModelMessages> {
  let why = 'a message lacks something'
  let cause: unknown
  try {
    const messages = fromModelMessages(history)
    const faults = messages.map(messageFault)
    const index = faults.findIndex((fault) => fault !== undefined)
    if (index < 0) return messages
    why = `of message ${index}, ${faults[index]}`
  } catch (thrown) {
    cause = thrown
  }
  throw new ProvostError(
    'invalid-messages',
    `The stored messages of session ${shown(sessionId)} are invalid: ${why}.`,
    {
      hint: 'Correct them in the store that was given to fromMessageStore.',
      cause,
    },
  )
}
