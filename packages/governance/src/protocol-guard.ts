import { defineExtension, escapePointer, isRecord } from '@provost/core'
import type { Extension, Json, JsonPointer } from '@provost/core'

import { escapeFor, isSafeFor } from './escape-for.ts'
import type { Boundary } from './escape-for.ts'

/** What {@link protocolGuard} looks at, and what it does with what it finds. */
export interface ProtocolGuardOptions {
  /** By tool and JSON pointer, what an argument with all that is in it will be part of. */
  readonly boundaries?: Readonly<Record<string, Readonly<Record<JsonPointer, Boundary>>>>
  /** `deny` refuses the call and says why; `escape` lets it go with the argument escaped. Default `deny`. */
  readonly onViolation?: 'deny' | 'escape'
}

/** Arguments of these names are headers whatever the tool. */
const headerNames = /^(?:headers?|cookies?|set-cookie|user-?agent|referr?er|content-disposition)$/i
const deepest = 64

/**
 * Judges the arguments that tools put into protocols: a line break in a header, a field of its own in a stream of
 * events, a cursor movement for a terminal. Arguments under `headers` and the like are looked at for every tool, the
 * others where you say what they become part of.
 *
 * @example
 * protocolGuard({ boundaries: { notify: { '/line': 'log-line' } } })
 */
export function protocolGuard(options: ProtocolGuardOptions = {}): Extension<unknown> {
  const { boundaries = {}, onViolation = 'deny' } = options
  return defineExtension({
    name: 'protocol-guard',
    scope: 'tree',
    asks: false,
    hooks: {
      async 'tool.call'(call, ctx) {
        const declared = Object.hasOwn(boundaries, call.tool.name) ? (boundaries[call.tool.name] ?? {}) : {}
        const violations: { path: JsonPointer; boundary: Boundary }[] = []
        const args = walk(
          call.input,
          '',
          undefined,
          0,
          (text, path, boundary) => {
            if (!boundary || isSafeFor(boundary, text)) return text
            violations.push({ path: `/${path.slice(1)}`, boundary })
            return escapeFor(boundary, text)
          },
          declared,
        )
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

/** A copy with every text and key changed; the boundary of a place holds for all that is in it. */
function walk(
  value: Json,
  path: string,
  boundary: Boundary | undefined,
  depth: number,
  change: (text: string, path: string, boundary: Boundary | undefined) => string,
  declared: Readonly<Record<string, Boundary>>,
): Json {
  if (depth > deepest) throw new RangeError('The arguments are nested too deeply to be checked.')
  const here = Object.hasOwn(declared, path) ? declared[path] : boundary
  if (typeof value === 'string') {
    const written = here === 'http-header' ? parsed(value) : undefined
    if (written === undefined) return change(value, path, here)
    // Whoever makes headers of it reads the JSON first: what is an escape here is a line break there.
    const checked = JSON.stringify(walk(written, path, here, depth + 1, change, {}))
    return checked === JSON.stringify(written) ? change(value, path, here) : checked
  }
  if (Array.isArray(value))
    return value.map((item: Json, n) => walk(item, `${path}/${n}`, here, depth + 1, change, declared))
  if (!isRecord(value)) return value
  const fields: [string, Json][] = []
  for (const [key, item] of Object.entries(value)) {
    const at = `${path}/${escapePointer(key)}`
    const below = here ?? (headerNames.test(key) ? 'http-header' : undefined)
    fields.push([change(key, at, here), walk(isJson(item) ? item : null, at, below, depth + 1, change, declared)])
  }
  return Object.fromEntries(fields)
}

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
