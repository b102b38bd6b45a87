/**
 * Characters that are invisible or misleading: controls (C0, C1, DEL), format characters (reading direction, zero width,
 * tags), line and paragraph separators, spaces of odd widths, fillers, lone surrogates, private and unassigned characters.
 */
const hidden = /[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]--[\x20\u3000]]/v
const hiddenAll = new RegExp(hidden, 'gv')
/** A hidden character, or a possible emoji whose parts are connected by a joiner, a selector or tags. */
const hiddenOrEmoji =
  /(\p{Emoji}\p{EMod}?(?=\ufe0f|\u200d|[\u{e0020}-\u{e007e}])\ufe0f?(?:\u20e3|[\u{e0020}-\u{e007e}]{1,8}\u{e007f})?(?:\u200d\p{ExtPict}\p{EMod}?\ufe0f?){0,4})|[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]--[\x20\u3000]]/gv
const wholeEmoji = /^\p{RGI_Emoji}$/v
/** The most distinct emoji of one text that are looked up. */
const mostEmoji = 200

/** The options of {@link displayText}. */
export interface DisplayOptions {
  /** Keeps line breaks and tabs, for text in its own block. Default false: they are escaped too. */
  readonly lines?: boolean
  /** Characters after which the text is cut; the number of omitted ones is appended. Default 100,000. */
  readonly limit?: number
  /** Spaces by which the JSON of a value that is not a string is indented. Needs `lines`. Default 0: one line. */
  readonly indent?: number
}

/**
 * Returns a value as text that is safe to show to a person. Control characters, ANSI sequences, marks of the reading
 * direction, zero-width and other invisible characters become visible escapes such as `\u202e`. A value that is not a
 * string is written as JSON, which parses to the same value unless it was cut. The result is for display only: pass on
 * the original value.
 *
 * @example
 * displayText('pay\u202eexe.pdf') // 'pay\\u202eexe.pdf'
 */
export function displayText(
  value: unknown,
  { lines = false, limit = 100_000, indent = 0 }: DisplayOptions = {},
): string {
  const whole = typeof value === 'string' ? value : (JSON.stringify(value, undefined, indent) ?? String(value))
  const text = whole.length > limit ? cut(whole, limit) : whole
  const left = whole.length - text.length
  return escaped(text, lines, typeof value !== 'string') + (left > 0 ? `… (${left} more characters)` : '')
}

/** Returns whether a text has characters that {@link displayText} would escape; line breaks and tabs do not count. */
export function hasHidden(text: string): boolean {
  return hidden.test(text) && escaped(text, true) !== text
}

function escaped(text: string, lines: boolean, json = false): string {
  if (!hidden.test(text)) return text
  const emoji = new Map<string, boolean>()
  return text.replaceAll(hiddenOrEmoji, (found, candidate: string | undefined) => {
    if (candidate === undefined) return escapeOf(found, lines, json)
    let isWhole = emoji.get(candidate)
    if (isWhole === undefined) {
      isWhole = emoji.size < mostEmoji && wholeEmoji.test(candidate)
      emoji.set(candidate, isWhole)
    }
    return isWhole ? candidate : candidate.replaceAll(hiddenAll, (character) => escapeOf(character, lines, json))
  })
}

const escapes = new Map<string, string>()

/** @param json writes escapes that JSON can parse: two for a character outside of the basic plane. */
function escapeOf(character: string, lines: boolean, json: boolean): string {
  if (character === '\n') return lines ? character : '\\n'
  if (character === '\t') return lines ? character : '\\t'
  if (json && character.length > 1) return unit(character.charCodeAt(0)) + unit(character.charCodeAt(1))
  let escape = escapes.get(character)
  if (escape === undefined) {
    const code = character.codePointAt(0) ?? 0
    escape = code > 0xffff ? `\\u{${code.toString(16)}}` : unit(code)
    if (escapes.size < 1_000) escapes.set(character, escape)
  }
  return escape
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** Cuts only between whole characters, not between surrogate halves. */
function cut(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}
