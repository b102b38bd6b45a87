/** A regular expression in RE2 syntax, which matches in linear time, or the reason why it cannot be converted. */
export type LinearPattern = { readonly re2: string; readonly size: number } | { readonly unfit: string }

const mostCharacters = 1_000
/** Instructions: what a character of a value costs at most. */
const mostInstructions = 1_000
/** The largest count in braces that RE2 accepts. */
const mostRepeats = 1_000
/** A class of a Unicode property has hundreds of ranges, so it costs more than a character. */
const propertySize = 3
const mostProperties = 20
/** Characters that a Unicode property counts as. */
const propertyCost = 20

const space = String.raw`\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
const notSpace = String.raw`\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
const lineEnds = String.raw`\x{a}\x{d}\x{2028}\x{2029}`
const everything = String.raw`\x{0}-\x{10ffff}`

/**
 * Translates the regular expression of a JSON Schema (ECMA-262) to RE2. The result accepts the same texts as
 * `new RegExp(source, 'u')`. Its size is the number of instructions after all counted repetitions are written out.
 *
 * Backreferences, lookaround, inline flags, most binary properties, and patterns of more than 1,000 characters or
 * instructions are unfit.
 */
export function linearPattern(source: string): LinearPattern {
  if (source.length > mostCharacters) return { unfit: `it has more than ${mostCharacters} characters` }
  if (propertiesIn(source) > mostProperties)
    return { unfit: `it asks for more than ${mostProperties} Unicode properties` }
  const unicode = isRegExp(source, 'u')
  if (!unicode && !isRegExp(source, '')) return { unfit: 'it is not a regular expression' }
  try {
    const { re2, size } = translate(source, unicode)
    if (size <= mostInstructions) return { re2, size }
    return { unfit: `its repetitions come to more than ${mostInstructions} instructions` }
  } catch (thrown) {
    return { unfit: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

/** Returns the cost to translate a pattern, known before the translation. */
export function patternCost(source: string): number {
  return source.length + propertyCost * propertiesIn(source)
}

function propertiesIn(source: string): number {
  return source.split(/\\p/i).length - 1
}

function isRegExp(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags).flags === flags
  } catch {
    return false
  }
}

/** The result of one step of the translation. */
interface Read {
  readonly text: string
  readonly size: number
  readonly end: number
}

/** @throws Error with the reason, for what RE2 does not have. */
function translate(source: string, unicode: boolean): { readonly re2: string; readonly size: number } {
  const open = [0]
  let text = ''
  // The size of what a quantifier would repeat.
  let last = 0
  const settle = (): void => {
    open.push((open.pop() ?? 0) + last)
    last = 0
  }
  for (let at = 0; at < source.length;) {
    const char = source[at] ?? ''
    if (char === '(') {
      settle()
      open.push(0)
      text += '(?:'
      at = groupAt(source, at)
    } else if (char === ')') {
      settle()
      last = open.pop() ?? 0
      text += ')'
      at++
    } else if (char === '|') {
      settle()
      last = 1
      text += '|'
      at++
    } else {
      const times = quantifierAt(source, at)
      if (times) {
        last = Math.min((last + 1) * times.size, mostInstructions + 1)
        text += times.text
        at = times.end
        continue
      }
      settle()
      const read = atomAt(source, at, unicode)
      text += read.text
      last = read.size
      at = read.end
    }
  }
  settle()
  return { re2: text, size: open[0] ?? 0 }
}

/** Returns the start of the content of a group. */
function groupAt(source: string, at: number): number {
  if (source[at + 1] !== '?') return at + 1
  if (source[at + 2] === ':') return at + 3
  if (/^\(\?<?[=!]/.test(source.slice(at, at + 4))) throw new Error('it looks around, with (?=, (?!, (?<= or (?<!')
  if (source[at + 2] === '<') return source.indexOf('>', at) + 1
  throw new Error('it sets flags for a part of itself')
}

/** Returns a greedy quantifier: laziness does not change which texts match. */
function quantifierAt(source: string, at: number): Read | undefined {
  const [whole, plain, least, comma, most] =
    /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(source.slice(at, at + 40)) ?? []
  if (whole === undefined) return undefined
  const end = at + whole.length
  if (plain !== undefined) return { text: plain, size: 1, end }
  const from = Number(least)
  const to = most === undefined || most === '' ? from : Number(most)
  if (from > mostRepeats || to > mostRepeats) throw new Error(`it repeats something more than ${mostRepeats} times`)
  const text = comma === undefined ? `{${from}}` : `{${from},${most === '' ? '' : to}}`
  return { text, size: Math.max(to, 1), end }
}

/** Everything that matches by itself: a character, a class, an assertion. */
function atomAt(source: string, at: number, unicode: boolean): Read {
  const first = source[at] ?? ''
  switch (first) {
    case '[':
      return classAt(source, at, unicode)
    case '.':
      return { text: `[^${lineEnds}]`, size: 1, end: at + 1 }
    case '^':
    case '$':
      return { text: first, size: 1, end: at + 1 }
    case '\\': {
      const next = source[at + 1] ?? ''
      if (/[dDwWbB]/.test(next)) return { text: `\\${next}`, size: 1, end: at + 2 }
      if (/[1-9k]/.test(next)) throw new Error('it refers back to what a group has matched')
      const set = setAt(source, at, unicode)
      return set ? { ...set, text: `[${set.text}]` } : characterAt(source, at, unicode)
    }
    default:
      return characterAt(source, at, unicode)
  }
}

function classAt(source: string, start: number, unicode: boolean): Read {
  const negated = source[start + 1] === '^'
  let at = start + (negated ? 2 : 1)
  let text = ''
  let size = 1
  while (source[at] !== ']') {
    const set = setAt(source, at, unicode)
    if (set) {
      text += set.text
      size += set.size - 1
      at = set.end
      continue
    }
    const from = characterAt(source, at, unicode)
    text += from.text
    at = from.end
    // `a-z`, unless the dash is the last one or what follows is a set.
    if (source[at] !== '-' || source[at + 1] === ']' || setAt(source, at + 1, unicode)) continue
    const to = characterAt(source, at + 1, unicode)
    text += `-${to.text}`
    at = to.end
  }
  const inside = text === '' ? everything : text
  return { text: `[${negated === (text === '') ? '' : '^'}${inside}]`, size, end: at + 1 }
}

/** Returns a class escape in its form inside brackets. */
function setAt(source: string, at: number, unicode: boolean): Read | undefined {
  if (source[at] !== '\\') return undefined
  const next = source[at + 1] ?? ''
  if (/[dDwW]/.test(next)) return { text: `\\${next}`, size: 1, end: at + 2 }
  if (next === 's' || next === 'S') return { text: next === 's' ? space : notSpace, size: 1, end: at + 2 }
  if (!unicode || (next !== 'p' && next !== 'P')) return undefined
  const end = source.indexOf('}', at) + 1
  const name = propertyOf(source.slice(at + 3, end - 1))
  return { text: `\\${next}{${name}}`, size: propertySize, end }
}

const categories = new Set(
  'C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs'.split(' '),
)
const longNames: Readonly<Record<string, string>> = {
  Letter: 'L',
  Lowercase_Letter: 'Ll',
  Uppercase_Letter: 'Lu',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  Punctuation: 'P',
  Symbol: 'S',
  Separator: 'Z',
  Space_Separator: 'Zs',
}

function propertyOf(property: string): string {
  const [, key, value = property] = /^(\w+)=(\w+)$/.exec(property) ?? []
  // Scripts by their long names, which the engine has too.
  if ((key === 'Script' || key === 'sc') && value.length > 4) return value
  const name = Object.hasOwn(longNames, value) ? (longNames[value] ?? value) : value
  if ((key === undefined || key === 'General_Category' || key === 'gc') && categories.has(name)) return name
  throw new Error(`it asks for the Unicode property ${property}`)
}

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, b: 8, 0: 0 }

/** Returns one character, escaped or not, by its code point, which is valid inside and outside of brackets. */
function characterAt(source: string, at: number, unicode: boolean): Read {
  const escaped = source[at] === '\\'
  if (escaped) {
    const rest = source.slice(at, at + 12)
    const pair = unicode && /^\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/i.exec(rest)
    if (pair) {
      const code = String.fromCharCode(parseInt(pair[1] ?? '', 16), parseInt(pair[2] ?? '', 16)).codePointAt(0) ?? 0
      return coded(code, at + pair[0].length)
    }
    const [whole, one, two, three] = /^\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/i.exec(rest) ?? []
    if (whole !== undefined && (three === undefined || unicode))
      return coded(parseInt(one ?? two ?? three ?? '', 16), at + whole.length)
    const control = /^\\c([a-z])/i.exec(rest)?.[1]
    if (control !== undefined) return coded(control.charCodeAt(0) % 32, at + 3)
    if (/^\\(?:0\d|[1-9])/.test(rest)) throw new Error('it has an octal escape')
    const known = controls[source[at + 1] ?? '']
    if (known !== undefined) return coded(known, at + 2)
  }
  const from = escaped ? at + 1 : at
  const code = source.codePointAt(from) ?? 0
  return coded(code, from + (code > 0xffff ? 2 : 1))
}

function coded(code: number, end: number): Read {
  return { text: `\\x{${code.toString(16)}}`, size: 1, end }
}
