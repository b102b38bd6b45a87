/** Puts text together with as much white space as reading needs. */
export interface Prose {
  /** Adds text; runs of white space are one space, unless it is verbatim. */
  text(text: string): void
  /** Adds something where the next text begins, such as the mark of a list; lost when no text follows. */
  mark(mark: string): void
  /** Adds something right behind the text before. */
  glue(text: string): void
  /** Starts the next text on a new line; 2: after an empty line. */
  lineBreak(breaks: 1 | 2): void
  /** Keeps white space while on. */
  verbatim(on: boolean): void
  /** Returns the whole text. */
  end(): string
  /** Characters so far. */
  readonly length: number
}

/** Returns an empty text. */
export function createProse(): Prose {
  const pieces: string[] = []
  let length = 0
  let breaks = 0
  let space = false
  let marks = ''
  let literal = false
  const push = (text: string): void => {
    pieces.push(text)
    length += text.length
  }
  const begin = (): void => {
    if (length > 0 && breaks > 0) push('\n'.repeat(breaks))
    else if (length > 0 && space) push(' ')
    if (marks !== '') push(length === 0 || breaks > 0 ? marks.trimStart() : marks)
    breaks = 0
    space = false
    marks = ''
  }
  return {
    text(text) {
      if (literal) {
        begin()
        // Line breaks and tabs are the only permitted control characters.
        push(text.replaceAll(/[^\P{Cc}\n\t]/gu, ''))
        return
      }
      const words = text.replaceAll(/[\s\p{Cc}]+/gu, ' ')
      if (words === ' ' || words === '') {
        space ||= words === ' '
        return
      }
      space ||= words.startsWith(' ')
      begin()
      push(words.trim())
      space = words.endsWith(' ')
    },
    mark(mark) {
      // Bounded, also for elements without text.
      if (marks.length < 32) marks += mark
    },
    glue(text) {
      // A link without text is omitted.
      if (marks.endsWith('[')) marks = marks.slice(0, -1)
      else push(text)
    },
    lineBreak(count) {
      breaks = Math.max(breaks, count)
    },
    verbatim(on) {
      literal = on
    },
    end: () => pieces.join('').trim(),
    get length() {
      return length
    },
  }
}
