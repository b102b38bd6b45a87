import { ProvostError } from '../values/error.ts'
import { deepFreeze, isRecord } from '../values/json.ts'
import { checkOptions } from '../values/known-options.ts'
import type { KnownKeys } from '../values/known-options.ts'
import type { Confidentiality } from '../values/label.ts'
import { confidentialities } from '../values/label.ts'

/** `transfer`: the target takes over the conversation. `return`: the caller continues with the target's answer. */
export type HandoffMode = 'transfer' | 'return'

/** Selects by confidentiality: `keep` and `require` name the highest that may pass, `drop` the lowest that may not. */
export type SensitivityRule =
  | { readonly keep: Confidentiality }
  | { readonly drop: Confidentiality }
  | { readonly require: Confidentiality }

/** What a handoff transfers, as data: written to the log, so that the transfer can be replayed. */
export type FilterDescriptor =
  | { readonly kind: 'full' }
  | { readonly kind: 'lastN'; readonly n: number }
  | { readonly kind: 'lastUser' }
  | { readonly kind: 'stripReasoning' }
  | { readonly kind: 'stripSensitiveOutputs' }
  | { readonly kind: 'stripToolCalls' }
  | { readonly kind: 'summary'; readonly maxTokens?: number; readonly text?: string }
  | ({ readonly kind: 'bySensitivity' } & SensitivityRule)
  | { readonly kind: 'compose'; readonly filters: readonly FilterDescriptor[] }

const keysOf = {
  full: { kind: true },
  lastN: { kind: true, n: true },
  lastUser: { kind: true },
  stripReasoning: { kind: true },
  stripSensitiveOutputs: { kind: true },
  stripToolCalls: { kind: true },
  summary: { kind: true, maxTokens: true, text: true },
  bySensitivity: { kind: true, keep: true, drop: true, require: true },
  compose: { kind: true, filters: true },
} satisfies { readonly [K in FilterDescriptor['kind']]: KnownKeys<Extract<FilterDescriptor, { readonly kind: K }>> }

const deepest = 8
const mostParts = 64

/**
 * Returns the descriptor, checked and frozen. It may come from a file or from untyped code.
 *
 * @throws ProvostError `invalid-filter` for a function, and for any other value that is not a descriptor.
 */
export function checkFilter(filter: unknown, depth = 0): FilterDescriptor {
  if (typeof filter === 'function') {
    throw invalid('A filter must be data, not a function, because the log records it')
  }
  if (!isRecord(filter)) throw invalid(`A filter must be an object, not ${filter === null ? 'null' : typeof filter}`)
  if (depth > deepest) throw invalid('The filters are nested too deeply')
  const { kind } = filter
  if (isKind(kind)) checkOptions(filter, keysOf[kind], `the filter ${kind}`)
  switch (kind) {
    case 'full':
    case 'lastUser':
    case 'stripReasoning':
    case 'stripSensitiveOutputs':
    case 'stripToolCalls':
      return Object.freeze({ kind })
    case 'lastN': {
      const { n } = filter
      if (!isCount(n)) throw invalid(`lastN takes an integer of at least 0, not ${shown(n)}`)
      return Object.freeze({ kind, n })
    }
    case 'summary': {
      const { maxTokens, text } = filter
      if (maxTokens !== undefined && !(isCount(maxTokens) && maxTokens > 0)) {
        throw invalid(`summary takes an integer maxTokens of at least 1, not ${shown(maxTokens)}`)
      }
      if (text !== undefined && typeof text !== 'string') throw invalid('The text of a summary must be a string')
      return Object.freeze({ kind, ...(maxTokens !== undefined && { maxTokens }), ...(text !== undefined && { text }) })
    }
    case 'bySensitivity':
      return Object.freeze({ kind, ...sensitivityIn(filter) })
    case 'compose': {
      const { filters: parts } = filter
      if (!Array.isArray(parts) || parts.length > mostParts) {
        throw invalid(`compose takes an array of at most ${mostParts} filters`)
      }
      return deepFreeze({ kind, filters: parts.map((part) => checkFilter(part, depth + 1)) })
    }
    default:
      throw invalid(`Unknown filter kind: ${shown(kind)}`)
  }
}

function sensitivityIn({ keep, drop, require }: Record<string, unknown>): SensitivityRule {
  const levels = [keep, drop, require].filter((level) => level !== undefined)
  if (levels.length === 1) {
    if (isLevel(keep)) return { keep }
    if (isLevel(drop)) return { drop }
    if (isLevel(require)) return { require }
  }
  throw invalid(
    `bySensitivity takes exactly one of keep, drop and require, set to one of ${confidentialities.join(', ')}`,
  )
}

function isKind(kind: unknown): kind is FilterDescriptor['kind'] {
  return typeof kind === 'string' && Object.hasOwn(keysOf, kind)
}

function isLevel(value: unknown): value is Confidentiality {
  return confidentialities.some((level) => level === value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value).slice(0, 60)
}

function invalid(why: string): ProvostError {
  return new ProvostError('invalid-filter', `${why}.`, {
    hint: 'Make filters with filters.full(), lastN(n), lastUser(), summary(), bySensitivity(…), strip…() and compose(…).',
  })
}
