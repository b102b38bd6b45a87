import { inspect } from 'node:util'

import type { Message, MessageInit } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { MessageBatch, Messages } from '../types/session.ts'

/** A range of messages and its replacement. */
export interface Edit {
  readonly at: number
  readonly remove: number
  readonly insert: readonly MessageInit[]
}

/** Where a guarded list reads its messages and sends its edits. */
export interface MessageSource {
  /** The current messages. */
  current(): readonly Message[]
  edit(edit: Edit): void
  transaction<T>(work: (draft: Messages) => T): T
  batch(): MessageBatch
  /** Present for the draft of a batch. */
  commit?(): void
}

type Edits = Omit<Messages, keyof ReadonlyArray<Message>>

/**
 * Returns a live list of messages that reads like an array and changes only by its own methods. It copies nothing, so
 * reading has no cost, however long the list is.
 */
export function guardedMessages(source: MessageSource & Pick<MessageBatch, 'commit'>): MessageBatch
export function guardedMessages(source: MessageSource): Messages
export function guardedMessages(source: MessageSource): Messages {
  const { current } = source
  const indexOf = (id: string): number => {
    const index = current().findIndex((message) => message.id === id)
    if (index >= 0) return index
    throw new ProvostError('unknown-message', `Unknown message: ${id} is not in session.messages.`, {
      hint: 'Take ids from session.messages.',
    })
  }
  const splice = (start: number, remove: number, ...insert: readonly MessageInit[]): void => {
    const { length } = current()
    const whole = Math.trunc(start) || 0
    const at = whole < 0 ? Math.max(0, length + whole) : Math.min(whole, length)
    const count = Math.min(Math.max(0, Math.trunc(remove) || 0), length - at)
    if (count > 0 || insert.length > 0) source.edit({ at, remove: count, insert })
  }
  const edits: Edits & { splice: Messages['splice'] } = {
    append: (...insert) => splice(current().length, 0, ...insert),
    splice,
    replaceRange(from, to, ...insert) {
      const at = indexOf(from)
      const end = indexOf(to)
      if (end < at) {
        throw new ProvostError('unknown-message', `Message ${to} comes before message ${from}.`, {
          hint: 'Pass the first message of the range first.',
        })
      }
      splice(at, end - at + 1, ...insert)
    },
    replace: (id, message) => splice(indexOf(id), 1, message),
    transaction: <T>(work: (draft: Messages) => T) => source.transaction(work),
    batch: () => source.batch(),
    ...(source.commit && { commit: () => source.commit?.() }),
  }

  const target: Message[] = []
  // Node's inspector looks past a proxy: the target shows what the proxy shows.
  Object.defineProperty(target, inspect.custom, { value: () => [...current()], configurable: true })
  const list: unknown = new Proxy(target, {
    get(_, key) {
      if (typeof key === 'string') {
        if (Object.hasOwn(edits, key)) return Reflect.get(edits, key)
        const instead = instructions.get(key)
        if (instead !== undefined) return () => refuse(`${key}() would change it`, instead)
      }
      const value: unknown = Reflect.get(key === inspect.custom ? target : current(), key)
      return value
    },
    has: (_, key) => Object.hasOwn(edits, key) || Reflect.has(current(), key),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(current(), key),
    set: (_, key) => refuse(`${String(key)} was set`),
    deleteProperty: (_, key) => refuse(`${String(key)} was deleted`),
    defineProperty: (_, key) => refuse(`${String(key)} was defined`),
    setPrototypeOf: () => refuse('its prototype was set'),
    preventExtensions: () => refuse('it was about to be frozen'),
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the traps make it what the type says
  return list as Messages
}

const anyEdit = 'append, splice, replaceRange, replace, transaction or batch'
/** What to use instead of an array's own method. */
const instructions: ReadonlyMap<string, string> = new Map([
  ['push', 'append(…messages)'],
  ['pop', 'splice(-1, 1)'],
  ['shift', 'splice(0, 1)'],
  ['unshift', 'splice(0, 0, …messages)'],
  ['fill', 'replaceRange(from, to, …messages)'],
  ['copyWithin', 'transaction((draft) => …)'],
  ['reverse', 'transaction((draft) => …)'],
  ['sort', 'transaction((draft) => …)'],
])

function refuse(what: string, instead = anyEdit): never {
  throw new ProvostError('guarded-messages', `session.messages cannot be written to directly: ${what}.`, {
    hint: `Use session.messages.${instead}: its edits are validated and recorded in the log.`,
  })
}
