import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import type { Label, Message, MessageInit, NewEntry } from '@provost/core'
import {
  ProvostError,
  fillLabel,
  isPromise,
  isRecord,
  joinLabels,
  labelOf,
  toJson,
  trustedLabel,
  untrustedLabel,
  checkArguments,
} from '@provost/core'
import { checkHistory } from '@provost/sessions'

import { messageOf } from '../messages/message.ts'
import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { SessionState } from '../types/session-state.ts'
import type { MessageBatch, Messages } from '../types/session.ts'
import type { Edit, MessageSource } from './guarded-messages.ts'
import { guardedMessages } from './guarded-messages.ts'

/** The edits of a session's messages that are not in the log yet. */
export interface MessageEdits {
  /** What the model would see now. */
  current(): readonly Message[]
  readonly messages: Messages
  /** Entries to write before anything else; the writer removes them. */
  readonly entries: NewEntry[]
  /** Clears what the model sees. */
  reset(): void
}

/**
 * Creates the edits over the view of a log.
 *
 * @param open throws if the messages may not be edited now.
 */
export function createMessageEdits(
  sessionId: string,
  agent: string,
  state: SessionState,
  open: () => void,
): MessageEdits {
  const entries: NewEntry[] = []
  /** The view with the edits that are not written yet. */
  let edited: readonly Message[] | undefined
  const current = (): readonly Message[] => (entries.length > 0 && edited ? edited : state.view)

  function commit(messages: readonly Message[], drafts: readonly NewEntry[]): void {
    checkHistory(messages)
    edited = messages
    entries.push(...drafts)
  }

  const own = { runId: sessionId, step: 0, agent, clock: state.clock }
  const messages = guardedMessages(sourceOf({ current, open, apply: commit }))

  function sourceOf(target: EditTarget): MessageSource {
    return {
      current: () => target.current(),
      edit(edit) {
        target.open()
        const { after, entry } = applied(target.current(), edit)
        target.apply(after, [entry])
      },
      transaction(work) {
        checkArguments('session.messages.transaction', [work], ['function'])
        return inOneGo(draftOf(target), work)
      },
      batch: () => draftOf(target).list,
    }
  }

  /** Returns a copy of the messages to edit. Its edits reach the target at the commit, with one validation. */
  function draftOf(target: EditTarget): Draft {
    target.open()
    const base = [...target.current()]
    let draft: readonly Message[] = base
    const drafts: NewEntry[] = []
    let isOver = false
    const draftOpen = (): void => {
      if (isOver) throw draftOver()
    }
    const source = sourceOf({
      current: () => draft,
      open: draftOpen,
      apply(after, made) {
        draft = after
        drafts.push(...made)
      },
    })
    const list = guardedMessages({
      ...source,
      commit() {
        draftOpen()
        target.open()
        if (!isDeepStrictEqual(base, [...target.current()])) throw changedMeanwhile()
        if (drafts.length > 0) target.apply(draft, drafts)
        isOver = true
      },
    })
    return { list, end: () => (isOver = true) }
  }

  function applied(
    before: readonly Message[],
    { at, remove, insert }: Edit,
  ): { after: readonly Message[]; entry: NewEntry } {
    const id = `${sessionId}/edit/${randomUUID()}`
    const removed = before.slice(at, at + remove)
    const added = insert.map((init, index) => entering(init, `${id}/${index}`, own, removed))
    const entry = viewEntry(id, before, at, removed, added)
    return { after: before.toSpliced(at, remove, ...added), entry }
  }

  function viewEntry(
    id: string,
    before: readonly Message[],
    at: number,
    removed: readonly Message[],
    added: readonly Message[],
  ): NewEntry {
    const [first] = removed
    const last = removed.at(-1)
    const next = before[at]
    if (first && last)
      return newEntry(own, id, { type: 'view', from: first.id, to: last.id, with: added, reason: 'edit' })
    // An addition at the end has no message to name.
    if (!next) return newEntry(own, id, { type: 'view', from: '', to: '', with: added, reason: 'edit' })
    return newEntry(own, id, { type: 'view', from: next.id, to: next.id, with: [...added, next], reason: 'edit' })
  }

  return {
    current,
    messages,
    entries,
    reset() {
      open()
      const [first] = current()
      const last = current().at(-1)
      if (!first || !last) return
      const id = `${sessionId}/reset/${randomUUID()}`
      const entry = newEntry(own, id, { type: 'view', from: first.id, to: last.id, with: [], reason: 'reset' })
      commit([], [entry])
    },
  }
}

/** Messages that a draft edits: those of the session, or of an outer draft. */
interface EditTarget {
  current(): readonly Message[]
  /** Throws if it may not be edited now. */
  open(): void
  apply(after: readonly Message[], entries: readonly NewEntry[]): void
}

interface Draft {
  readonly list: MessageBatch
  /** Refuses all further edits. */
  end(): void
}

function inOneGo<T>({ list, end }: Draft, work: (draft: Messages) => T): T {
  try {
    const answer = work(list)
    if (isPromise(answer)) {
      // Its later edits fail, and the caller already receives an error.
      answer.then(undefined, () => {})
      throw new ProvostError('async-transaction', 'The callback of transaction() returned a promise.', {
        hint: 'Use const draft = session.messages.batch(), await what you need, then draft.commit().',
      })
    }
    list.commit()
    return answer
  } finally {
    end()
  }
}

function draftOver(): ProvostError {
  return new ProvostError('draft-over', 'The draft of these messages is committed or rolled back.', {
    hint: 'Edit session.messages, or start another batch().',
  })
}

function changedMeanwhile(): ProvostError {
  return new ProvostError('messages-changed', 'The messages changed since batch() was called.', {
    hint: 'Start another batch() and make its edits again. Nothing of this one was applied.',
  })
}

/**
 * Returns a message as an edit inserts it. Without a label it gets the label of the messages that it replaces, so that
 * rewriting does not make data trusted.
 */
function entering(init: MessageInit, id: string, { agent, clock }: EntryContext, removed: readonly Message[]): Message {
  const { role = 'user', content, label, data } = checked(init)
  const own: Label = role === 'user' ? trustedLabel : untrustedLabel('edit')
  const base = joinLabels(own, ...removed.map(labelOf))
  return messageOf({ role, content, label: fillLabel(label, base), data }, clock, id, base, agent)
}

/** Copies the message, so that the caller's is not frozen. */
function checked(init: MessageInit): MessageInit {
  const { role, content, label, data }: Partial<MessageInit> = isRecord(init) ? init : {}
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw new ProvostError('invalid-messages', 'The edit has a message without content.', {
      hint: "Pass { role, content: 'text' } or { role, content: [parts] }.",
    })
  }
  const copy: unknown = typeof content === 'string' ? content : toJson(content)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a JSON copy of what the compiler has checked
  return { ...(role && { role }), content: copy as MessageInit['content'], ...(label && { label }), data }
}
