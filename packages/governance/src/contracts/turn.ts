import type { Entry, Fold, HookContext, Message } from '@provost/core'
import { textOf } from '@provost/core'

import type { SemanticClasses } from '../wording/semantic-class.ts'
import { declines, onlyAgrees, semanticClassesOf } from '../wording/semantic-class.ts'
import type { Exchange } from './exchange.ts'
import { exchangesFold, visibleText } from './exchange.ts'

/** The human's messages that a run works on. What they ask for expires with the next turn. */
export interface Turn {
  /** The id of the first message. Steering messages, a plain `yes`, and replies to a question extend a turn and keep its id. */
  readonly id: string
  readonly messages: readonly Message[]
  /** Answers of the agent that the human read and agreed to in this turn, as far as they are visible. */
  readonly confirmed: readonly string[]
}

interface TurnMessages {
  messages: Map<string, Message>
  /** The model has answered, so a queued message starts the next turn. */
  answered: boolean
}

/** The state grows in place: each reader of a log starts empty and keeps a state of its own. */
const turnFold: Fold<TurnMessages | undefined> = {
  key: 'governance/turn',
  initial: undefined,
  apply(turn = { messages: new Map(), answered: false }, entry: Entry): TurnMessages {
    if (entry.type === 'run' && entry.op === 'started') return { messages: new Map(), answered: false }
    if (entry.type !== 'message') return turn
    if (entry.via === 'model') turn.answered = true
    else if (entry.message.role === 'user' && entry.via !== 'system') {
      const { message } = entry
      if (entry.via === 'queue' && turn.answered) return { messages: new Map([[message.id, message]]), answered: false }
      turn.messages.set(message.id, message)
    }
    return turn
  },
}

/** Returns the messages that a run works on; in a child they are its task. */
export function messagesOfRun(ctx: HookContext): readonly Message[] {
  return [...(ctx.fold(turnFold)?.messages.values() ?? [])]
}

/** Messages before a run that a turn may have. */
const mostEarlier = 8

/** Returns the present turn of a run. It has no messages if a human did not write the input. */
export function turnOf(ctx: HookContext): Turn {
  const { intent } = ctx
  const ids = ctx.fold(turnFold)?.messages
  let first = intent.findIndex(({ id }) => ids?.has(id))
  // The log of a child has none of the messages that its parent received.
  if (first < 0) first = ctx.run.parents.length > 0 ? intent.length - 1 : intent.length
  const exchanges = new Map((ctx.fold(exchangesFold) ?? []).map((one) => [one.id, one]))
  for (let left = mostEarlier; left > 0 && first > 0; left--) {
    const [before, message] = [intent[first - 1], intent[first]]
    if (!before || !message || !continues(message, exchanges.get(before.id), ctx)) break
    first--
  }
  const messages = intent.slice(first)
  const confirmed = messages.flatMap((message, index) => {
    const before = exchanges.get(messages[index - 1]?.id ?? '')
    return before && agrees(message) ? visibleText(before.answer) : []
  })
  return { id: messages[0]?.id ?? '', messages, confirmed }
}

function agrees(message: Message): boolean {
  return onlyAgrees(textOf(message), meaningOf(message))
}

/**
 * Returns whether a message belongs to the request before it. `Yes, please` does. So does the reply to a question that
 * the agent asked instead of acting: the request is still open.
 */
function continues(message: Message, before: Exchange | undefined, { tools }: HookContext): boolean {
  if (agrees(message)) return true
  if (!before?.asks || before.hasChildren || declines(textOf(message))) return false
  const reads = new Set(tools.filter(({ effect }) => effect === 'read' || effect === 'none').map(({ name }) => name))
  return [...before.tools].every((name) => reads.has(name))
}

const meanings = new WeakMap<Message, SemanticClasses>()

/** Returns the meaning of a message's words. */
export function meaningOf(message: Message): SemanticClasses {
  let meaning = meanings.get(message)
  if (!meaning) meanings.set(message, (meaning = semanticClassesOf(textOf(message))))
  return meaning
}
