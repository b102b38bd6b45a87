import type { Entry, Fold, HookContext, Message } from '@provost/core'
import { textOf } from '@provost/core'

import type { SemanticClasses } from '../wording/semantic-class.ts'
import { onlyAgrees, semanticClassesOf } from '../wording/semantic-class.ts'

/** The human's messages that a run works on. What they ask for expires with the next turn. */
export interface Turn {
  /** The id of the first message. Steering messages and a plain `yes` extend a turn and keep its id. */
  readonly id: string
  readonly messages: readonly Message[]
}

interface TurnMessages {
  readonly ids: readonly string[]
  /** The model has answered, so a queued message starts the next turn. */
  readonly answered: boolean
}

const turnFold: Fold<TurnMessages> = {
  key: 'governance/turn',
  initial: { ids: [], answered: false },
  apply(turn, entry: Entry): TurnMessages {
    if (entry.type === 'run') return entry.op === 'started' ? { ids: [], answered: false } : turn
    if (entry.type !== 'message') return turn
    if (entry.via === 'model') return turn.answered ? turn : { ...turn, answered: true }
    if (entry.message.role !== 'user' || entry.via === 'system') return turn
    const begins = entry.via === 'queue' && turn.answered
    return { ids: begins ? [entry.message.id] : [...turn.ids, entry.message.id], answered: !begins && turn.answered }
  },
}

/** Returns the present turn of a run. It has no messages if a human did not write the input. */
export function turnOf(ctx: HookContext): Turn {
  const { intent } = ctx
  const ids = new Set(ctx.fold(turnFold).ids)
  let first = intent.findIndex(({ id }) => ids.has(id))
  // The log of a child has none of the messages that its parent received.
  if (first < 0) first = ctx.run.parents.length > 0 ? intent.length - 1 : intent.length
  // `Yes, please` refers to the message before it.
  while (first > 0 && first < intent.length && intent.slice(first).every(agrees)) first--
  const messages = intent.slice(first)
  return { id: messages[0]?.id ?? '', messages }
}

function agrees(message: Message): boolean {
  return onlyAgrees(textOf(message), meaningOf(message))
}

const meanings = new WeakMap<Message, SemanticClasses>()

/** Returns the meaning of a message's words. */
export function meaningOf(message: Message): SemanticClasses {
  let meaning = meanings.get(message)
  if (!meaning) meanings.set(message, (meaning = semanticClassesOf(textOf(message))))
  return meaning
}
