import { checkChoice, checkOptions, defineExtension, escapePointer, isRecord } from '@provost/core'
import type { Extension, Json, JsonPointer, KnownKeys, Steps } from '@provost/core'

import { boundaryNames, escapeFor, isSafeFor } from '../text/escape-for.ts'
import type { Boundary } from '../text/escape-for.ts'
import { headerBoundary, isBody } from './header-name.ts'

/** Options of {@link protocolGuard}. */
export interface ProtocolGuardOptions {
  /**
   * The protocol part that an argument and its contents become, by tool and JSON pointer. `text` may have several lines,
   * independent of its name: `{ compare: { '/from': 'text', '/to': 'text' } }`.
   */
  readonly boundaries?: Readonly<Record<string, Readonly<Record<JsonPointer, Boundary | 'text'>>>>
  /**
   * `deny` denies the call with a reason; `escape` runs the call with escaped arguments. Arguments that a later extension
   * rewrote are denied in both cases. Default `deny`.
   */
  readonly onViolation?: 'deny' | 'escape'
}

const deepest = 64

/** The protocol part that a text becomes. */
type Place = Boundary | 'text' | undefined
type Change = (text: string, path: string, place: Place) => string
type Declared = Readonly<Record<string, Boundary | 'text'>>
const optionKeys = {
  boundaries: true,
  onViolation: true,
} satisfies KnownKeys<ProtocolGuardOptions>

/**
 * Rejects injection in arguments that tools put into protocols: a line break in a header, an extra field in an event
 * stream, a cursor movement for a terminal. Arguments with the name of a header (`subject`, `to`, `replyTo`, `filename`,
 * `host`, all under `headers`, …) are checked for every tool, at any depth, also in JSON text. Other arguments are checked
 * if `boundaries` lists them. A text such as `body` or `content` may have several lines.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 *
 * @example
 * protocolGuard({ boundaries: { notify: { '/line': 'log-line' } } })
 */
export function protocolGuard(options: ProtocolGuardOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'protocolGuard')
  const { boundaries = {}, onViolation = 'deny' } = options
  checkChoice(onViolation, ['deny', 'escape'], 'onViolation', 'protocolGuard')
  for (const [toolName, places] of Object.entries(boundaries))
    for (const [pointer, place] of Object.entries(places))
      checkChoice(
        place,
        ['text', ...boundaryNames],
        `boundaries.${toolName}[${JSON.stringify(pointer)}]`,
        'protocolGuard',
      )
  return defineExtension({
    name: 'protocol-guard',
    scope: 'tree',
    portable: true,
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
        // Final arguments can no longer be escaped.
        const escapes = onViolation === 'escape' && !ctx.final
        await ctx.audit(escapes ? 'flagged' : 'blocked', {
          rule: 'protocol-guard',
          callId: call.callId,
          sources: call.label.sources,
          evidence: { tool: call.tool.name, violations },
        })
        if (escapes && isRecord(args)) return { args }
        const places = violations.slice(0, 5).map(({ path, boundary }) => `${path} (${boundary})`)
        return {
          deny: `These arguments contain characters that are not allowed there: ${places.join(', ')}. Use plain text on one line.`,
        }
      },
    },
  })
}

/** Fields between two pauses. */
const fieldsPerStep = 200

/** Returns a copy with every text and key changed. The boundary of a place applies to all its contents. */
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
      // The escaped text may now parse as JSON.
      return changed === value ? value : yield* walk(changed, key, path, here, depth + 1, change, {})
    }
    // A tool that builds headers from the text parses the JSON first, so an escape here becomes a line break there.
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

/** Returns the place of a value next to a header name: `{ name: 'Subject', value }`, `['Subject', value]`. */
function nameIn(name: unknown): Place {
  const isName = typeof name === 'string' && name.length <= 200 && headerBoundary(name) !== undefined
  return isName ? 'mail-header' : undefined
}

/** Returns whether an object has only the keys of a header. An object with a name and a description is not a header. */
function isHeader(value: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(value).every((key) => headerKeys.has(key.toLowerCase()))
}

const headerKeys: ReadonlySet<string> = new Set(['name', 'key', 'field', 'header', 'value', 'values'])

/** Parses a text that is a JSON object or list. */
function parsed(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Narrows a field of JSON, whose record type is `unknown`. */
function isJson(value: unknown): value is Json {
  return value !== undefined
}
