import type { StreamChunk } from '@provost/provider'

type TextDelta = Extract<StreamChunk, { readonly delta: string; readonly partId: string }>

/** What a word with a link has: Markdown, HTML, an entity, an escape, a scheme, or a host. */
const linkMark = /[[\]<&\\@]|:\S|\/\/|[.\u3002\uFF0E\uFF61]\p{L}|\d\.\d{1,3}\.\d/u
const spaceOrPause = /[\s\u3000\u3001\uFF0C]/u
/** Characters of the longest word that waits for its end. */
const longestWord = 500

/** The text of an answer as it streams: words that may be part of a link, and all that follows them, are held. */
export interface LinkGate {
  /** Splits a delta into the part that may be emitted now and the part that is held. */
  pass(piece: TextDelta): { readonly shown: readonly StreamChunk[]; readonly held: readonly StreamChunk[] }
  /** Returns the word that waits for its end. */
  rest(partId: string): readonly StreamChunk[]
}

export function linkGate(): LinkGate {
  let word = ''
  const chunk = (piece: TextDelta, delta: string): readonly StreamChunk[] => (delta === '' ? [] : [{ ...piece, delta }])
  return {
    pass(piece) {
      const text = word + piece.delta
      const mark = text.search(linkMark)
      const cut = lastPause(mark < 0 ? text : text.slice(0, mark))
      const shown = chunk(piece, text.slice(0, cut))
      if (mark >= 0) {
        word = ''
        return { shown, held: chunk(piece, text.slice(cut)) }
      }
      word = text.slice(cut)
      if (word.length <= longestWord) return { shown, held: [] }
      word = ''
      return { shown: chunk(piece, text), held: [] }
    },
    rest(partId) {
      const delta = word
      word = ''
      return delta === '' ? [] : [{ type: 'text-delta', partId, delta }]
    },
  }
}

/** Returns the index behind the last space of a text. */
function lastPause(text: string): number {
  for (let at = text.length; at > 0; at--) if (spaceOrPause.test(text.charAt(at - 1))) return at
  return 0
}
