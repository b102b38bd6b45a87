import { checkChoice, checkOptions, defineExtension, escapePointer, isRecord } from '@provost/core'
import type { Extension, Json, JsonPointer, KnownKeys, Steps } from '@provost/core'

import { escapeFor, isSafeFor } from '../text/escape-for.ts'
import type { Boundary } from '../text/escape-for.ts'
import { headerBoundary, isBody } from './header-name.ts'

/** What {@link protocolGuard} looks at, and what it does with what it finds. */
export interface ProtocolGuardOptions {
  /**
   * By tool and JSON pointer, what an argument with all that is in it will be part of. `text` is part of nothing and may
   * have lines, whatever its name: `{ compare: { '/from': 'text', '/to': 'text' } }`.
   */
  readonly boundaries?: Readonly<Record<string, Readonly<Record<JsonPointer, Boundary | 'text'>>>>
  /** `deny` refuses the call and says why; `escape` lets it go with the argument escaped. Default `deny`. */
  readonly onViolation?: 'deny' | 'escape'
}

const deepest = 64

/** What a text will be part of. */
type Place = Boundary | 'text' | undefined
type Change = (text: string, path: string, place: Place) => string
type Declared = Readonly<Record<string, Boundary | 'text'>>
const optionKeys = {
  boundaries: true,
  onViolation: true,
} satisfies KnownKeys<ProtocolGuardOptions>

/**
 * Judges the arguments that tools put into protocols: a line break in a header, a field of its own in a stream of
 * events, a cursor movement for a terminal. Arguments that are headers by their name (`subject`, `to`, `replyTo`,
 * `filename`, `host`, all under `headers`, …) are looked at for every tool, at any depth, also in JSON that is a text;
 * the others where you say what they become part of. A text such as `body` or `content` may have lines.
 *
 * @example
 * protocolGuard({ boundaries: { notify: { '/line': 'log-line' } } })
 */
export function protocolGuard(options: ProtocolGuardOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'protocolGuard')
  const { boundaries = {}, onViolation = 'deny' } = options
  checkChoice(onViolation, ['deny', 'escape'], 'onViolation', 'protocolGuard')
  return defineExtension({
    name: 'protocol-guard',
    scope: 'tree',
    asks: false,
    hooks: {
      async 'tool.call'(call, ctx) {
        const declared = Object.hasOwn(boundaries, call.tool.name) ? (boundaries[call.tool.name] ?? {}) : {}
        const violations: { path: JsonPointer; boundary: Boundary }[] = []
        const checked = walk(
          call.input,
          '',
          '',
          undefined,
          0,
          (text, path, place) => {
            if (!place || place === 'text' || isSafeFor(place, text)) return text
            violations.push({ path: `/${path.slice(1)}`, boundary: place })
            return escapeFor(place, text)
          },
          declared,
        )
        const args = await ctx.inTurns(checked)
        if (violations.length === 0) return undefined
        await ctx.audit(onViolation === 'deny' ? 'blocked' : 'flagged', {
          rule: 'protocol-guard',
          callId: call.callId,
          sources: call.label.sources,
          evidence: { tool: call.tool.name, violations },
        })
        if (onViolation === 'escape') return { args }
        const places = violations.slice(0, 5).map(({ path, boundary }) => `${path} (${boundary})`)
        return {
          deny: `These arguments hold characters that are not allowed there: ${places.join(', ')}. Use plain text on one line.`,
        }
      },
    },
  })
}

/** Fields that are checked without a pause. */
const fieldsPerStep = 200

/** A copy with every text and key changed; the boundary of a place holds for all that is in it. */
function* walk(
  value: Json,
  key: string,
  path: string,
  place: Place,
  depth: number,
  change: Change,
  declared: Declared,
): Steps<Json> {
  if (depth > deepest) throw new RangeError('The arguments are nested too deeply to be checked.')
  const here = Object.hasOwn(declared, path) ? declared[path] : place
  if (typeof value === 'string') {
    const open = here === 'http-header' || here === 'mail-header' || (here === undefined && !isBody(key))
    const written = open ? parsed(value) : undefined
    if (written === undefined) {
      const changed = change(value, path, here)
      // Without what made it none, it may be JSON.
      return changed === value ? value : yield* walk(changed, key, path, here, depth + 1, change, {})
    }
    // The tool that makes headers of it reads the JSON first: what is an escape here is a line break there.
    const checked = JSON.stringify(yield* walk(written, key, path, here, depth + 1, change, {}))
    return checked === JSON.stringify(written) ? change(value, path, here) : checked
  }
  if (Array.isArray(value)) {
    const below = here ?? (value.length === 2 ? nameIn(value[0]) : undefined)
    const items: Json[] = []
    for (const [n, item] of value.entries()) {
      items.push(yield* walk(item, key, `${path}/${n}`, below, depth + 1, change, declared))
      if (n % fieldsPerStep === fieldsPerStep - 1) yield
    }
    return items
  }
  if (!isRecord(value)) return value
  const listed =
    here ?? (isHeader(value) ? nameIn(value['name'] ?? value['key'] ?? value['field'] ?? value['header']) : undefined)
  const fields: [string, Json][] = []
  for (const [name, item] of Object.entries(value)) {
    const at = `${path}/${escapePointer(name)}`
    const named = headerBoundary(name)
    const below = here === 'mail-header' && named === 'http-header' ? named : (listed ?? named)
    const inner = yield* walk(isJson(item) ? item : null, name, at, below, depth + 1, change, declared)
    fields.push([change(name, at, below), inner])
    if (fields.length % fieldsPerStep === 0) yield
  }
  return Object.fromEntries(fields)
}

/** What the value is that stands beside a name: `{ name: 'Subject', value }`, `['Subject', value]`. */
function nameIn(name: unknown): Place {
  const isName = typeof name === 'string' && name.length <= 200 && headerBoundary(name) !== undefined
  return isName ? 'mail-header' : undefined
}

/** A thing that is called Cookies and has a description is none. */
function isHeader(value: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(value).every((key) => headerKeys.has(key.toLowerCase()))
}

const headerKeys: ReadonlySet<string> = new Set(['name', 'key', 'field', 'header', 'value', 'values'])

/** An object or a list that is written as a text. */
function parsed(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The fields of JSON are JSON; the type of a record has forgotten it. */
function isJson(value: unknown): value is Json {
  return value !== undefined
}
