import type { Turn } from './conversation.ts'

/** Some characters of a text of a message, in UTF-16 code units. */
export interface MessageWords {
  readonly message: string
  readonly pointer: string
  readonly from: number
  readonly to: number
}

/** What is selected of a piece, as the page shows it. */
interface Selected {
  readonly piece: string
  readonly before: string
  readonly text: string
}

/** Returns what is selected in one text of a message; undefined if nothing is, or more than that. */
export function selectedIn(selection: Selection | null): Selected | undefined {
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return undefined
  const range = selection.getRangeAt(0)
  const element = pieceOf(range.startContainer)
  const piece = element?.dataset['words']
  if (!element || piece === undefined || pieceOf(range.endContainer) !== element) return undefined
  const before = document.createRange()
  before.setStart(element, 0)
  before.setEnd(range.startContainer, range.startOffset)
  return { piece, before: before.toString(), text: range.toString().trim() }
}

function pieceOf(node: Node): HTMLElement | null {
  const element = node instanceof HTMLElement ? node : node.parentElement
  return element?.closest<HTMLElement>('[data-words]') ?? null
}

/**
 * Returns where selected words are in the log. The page shows a text without its marks, so words that are not in the text as they
 * are shown stand for the whole text.
 */
export function wordsOf(turns: readonly Turn[], { piece: id, before, text }: Selected): MessageWords | undefined {
  const turn = turns.findLast(({ pieces }) => pieces.some((piece) => piece.id === id))
  const piece = turn?.pieces.find((one) => one.id === id)
  if (!turn || turn.isOpen || piece?.type !== 'text' || text === '') return undefined
  const place = { message: turn.id, pointer: `/message/content/${id.slice(id.lastIndexOf('/') + 1)}/text` }
  let at = piece.text.indexOf(text)
  for (let n = before.split(text).length - 1; n > 0 && at >= 0; n--) {
    const next = piece.text.indexOf(text, at + text.length)
    if (next < 0) break
    at = next
  }
  return at < 0
    ? { ...place, from: 0, to: Math.min(piece.text.length, mostTraced) }
    : { ...place, from: at, to: Math.min(at + text.length, at + mostTraced) }
}

/** Characters of one trace, as the server permits them. */
const mostTraced = 20_000
