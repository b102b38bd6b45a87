import { escapePointer, ProvostError } from '@provost/core'
import type { JsonPointer } from '@provost/core'

/** One string or number of the arguments, or a long key, and its start in the joined text. */
export interface ArgumentValue {
  readonly path: JsonPointer
  readonly start: number
  readonly end: number
}

/** All values of a call, joined without a separator so that a text split over several is found. */
export interface ArgumentText {
  readonly text: string
  /** The values in order, without empty ones. */
  readonly values: readonly ArgumentValue[]
}

interface Place {
  readonly above: Place | undefined
  readonly key: string
  readonly depth: number
}

/** Values of one call at most: more are an attack. */
const mostValues = 1_000_000
/** Levels of nesting at most: deeper arguments are cyclic or an attack. */
const mostDeep = 50_000

/**
 * Returns the texts in the arguments of a call, at any depth.
 *
 * @param longKey characters of a key that counts as a value too; names in a schema are shorter.
 * @throws ProvostError `unreadable-arguments` for arguments that are cyclic or too large.
 */
export function argumentText(args: unknown, longKey: number): ArgumentText {
  const texts: string[] = []
  const values: ArgumentValue[] = []
  let length = 0
  let visited = 0
  // An explicit stack: arguments may be nested more deeply than the call stack allows.
  const open: { readonly value: unknown; readonly place: Place | undefined }[] = [{ value: args, place: undefined }]
  for (let item = open.pop(); item; item = open.pop()) {
    const { value, place } = item
    const depth = (place?.depth ?? 0) + 1
    if (++visited > mostValues || depth > mostDeep) {
      throw unreadable('have too many values, are nested too deeply or refer to themselves')
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value)
      if (text === '') continue
      texts.push(text)
      // Most calls have no hits, so the paths of values are computed on demand.
      values.push(lazyValue(place, length, length + text.length))
      length += text.length
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) {
        open.push({ value: value[i], place: { above: place, key: `${i}`, depth } })
      }
    } else if (typeof value === 'object' && value !== null) {
      const fields = Object.entries(value)
      for (let i = fields.length - 1; i >= 0; i--) {
        const [key, field] = fields[i] ?? ['', undefined]
        const below = { above: place, key, depth }
        open.push({ value: field, place: below })
        if (key.length >= longKey) open.push({ value: key, place: below })
      }
    }
  }
  return { text: texts.length === 1 ? (texts[0] ?? '') : texts.join(''), values }
}

function lazyValue(place: Place | undefined, start: number, end: number): ArgumentValue {
  return {
    start,
    end,
    get path() {
      return pathOf(place)
    },
  }
}

function pathOf(place: Place | undefined): JsonPointer {
  const keys: string[] = []
  for (let at = place; at; at = at.above) keys.push(escapePointer(at.key))
  return `/${keys.toReversed().join('/')}`
}

function unreadable(why: string): ProvostError {
  return new ProvostError('unreadable-arguments', `The arguments of a call ${why}.`, {
    hint: 'Give plain JSON of a reasonable size.',
  })
}
