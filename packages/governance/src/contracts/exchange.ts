import type { Entry, Fold, Message } from '@provost/core'
import { textOf } from '@provost/core'

/** A message of the human, and what the agent did until the human's next one. */
export interface Exchange {
  /** The id of the human's message. */
  readonly id: string
  /** Names of the tools that the agent called. */
  readonly tools: Set<string>
  /** A child ran, whose log has further calls. */
  hasChildren: boolean
  /** The agent's last answer, if it is not longer than a reader takes in at once. */
  answer: string
  /** That answer ends with a question. */
  asks: boolean
}

/** Exchanges that are kept: an earlier one can no longer be continued. */
const mostExchanges = 16
/** Characters of the longest answer that a plain `yes` confirms. */
const longestShown = 4_000
/** Characters at the end of an answer in which a question is looked for. */
const questionWithin = 400

/**
 * Folds a log into the last exchanges between the human and the agent. The state grows in place: each reader of a log
 * starts empty and keeps a state of its own.
 */
export const exchangesFold: Fold<Exchange[] | undefined> = {
  key: 'governance/exchanges',
  initial: undefined,
  apply(exchanges = [], entry) {
    read(exchanges, entry)
    return exchanges
  },
}

function read(exchanges: Exchange[], entry: Entry): void {
  const last = exchanges.at(-1)
  if (entry.type === 'child' && entry.op === 'spawned' && last) last.hasChildren = true
  else if (entry.type === 'call' && entry.op === 'planned') last?.tools.add(entry.toolName)
  else if (entry.type === 'message') {
    const { message, via } = entry
    if (via === 'model' && last) readAnswer(last, message)
    else if (message.role === 'user' && via !== 'system') {
      exchanges.push({ id: message.id, tools: new Set(), hasChildren: false, answer: '', asks: false })
      if (exchanges.length > mostExchanges) exchanges.shift()
    }
  }
}

function readAnswer(exchange: Exchange, message: Message): void {
  for (const part of message.content) if (part.type === 'tool-call') exchange.tools.add(part.toolName)
  const text = textOf(message)
  if (text === '') return
  exchange.answer = text.length <= longestShown ? text : ''
  exchange.asks = /[?？؟]/u.test(text.slice(-questionWithin))
}

/** What a rendered answer hides: comments, tags, and the targets of links. */
const hidden = /<!--[^>]{0,4000}-->|<[a-z/][^<>]{0,2000}>|\]\([^()\s]{0,2000}\)|^\s{0,3}\[[^\]\n]{1,200}\]:.*$/gimu

/** Returns what a reader sees of an answer; nothing of one with invisible characters. */
export function visibleText(answer: string): readonly string[] {
  if (answer === '' || /\p{Default_Ignorable_Code_Point}/u.test(answer)) return []
  return [answer.replaceAll(hidden, ' ')]
}
