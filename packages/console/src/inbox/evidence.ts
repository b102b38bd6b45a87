import { isRecord } from '@provost/core'
import type { ValueHit, ValuePlace } from '@provost/governance'
import type { ConsoleWait } from '@provost/server/console'

import { argumentsOf, isWithin, textOf } from '../wire/read-json.ts'

/** A part of an argument and its place in something that the session has read. */
export interface Hit extends Pick<ValueHit, 'at' | 'from'> {
  readonly argument: string
  /** How the argument writes what the source has: `verbatim`, `base64`, … */
  readonly view: string
  /** The agents that it came through, the first reader first. */
  readonly path: readonly string[]
}

/** One argument of the call. */
export interface Argument {
  /** JSON pointer; empty for an input that is not an object. */
  readonly pointer: string
  readonly name: string
  readonly value: unknown
  readonly role: string | undefined
  readonly isAskedAbout: boolean
  /** Where the value came from, in words. */
  readonly origin: string
  readonly warnings: readonly string[]
}

/** A text of the session from which values of the call came. */
export interface Source extends Pick<ValuePlace, 'run' | 'entry' | 'offset' | 'pointer'> {
  readonly key: string
  readonly name: string
  readonly hits: readonly Hit[]
  readonly isAskedAbout: boolean
}

/** A call that waits, as the view draws it. */
export interface Case {
  readonly args: readonly Argument[]
  readonly sources: readonly Source[]
  /** The agents that the values came through, the first reader first. */
  readonly path: readonly string[]
  /** What the user asked for that comes nearest, and how the call differs. */
  readonly contract: unknown
  /** All evidence, as the policy wrote it. */
  readonly rest: unknown
}

/** Returns what there is to draw about a wait. Evidence of an unknown form is shown as it is. */
export function caseOf({ wait, agent }: ConsoleWait): Case {
  const evidence = isRecord(wait?.['evidence']) ? wait['evidence'] : {}
  const hits = hitsOf(evidence['values'])
  const asked = new Set(askedOf(evidence))
  const args = argumentsOf(wait?.['input'], 'input').map(({ pointer, name, value }): Argument => {
    const isAskedAbout = [...asked].some((path) => isWithin(path, pointer))
    return {
      ...{ pointer, name, value, isAskedAbout },
      role: roleOf(wait?.['roles'], pointer),
      origin: originOf(wait?.['origins'], pointer, hits),
      warnings: warningsOf(wait?.['warnings'], pointer),
    }
  })
  const sources = sourcesOf(hits, asked)
  const path = [...new Set([...hits.flatMap((hit) => hit.path), agent])]
  return { args, sources, path, contract: evidence['contract'], rest: wait?.['evidence'] }
}

function hitsOf(values: unknown): readonly Hit[] {
  if (!Array.isArray(values)) return []
  return values.flatMap((value: unknown) => {
    if (!isRecord(value) || !Array.isArray(value['hits'])) return []
    // Text that the model wrote itself shares single words with what it read: that says nothing.
    if (value['role'] === 'content' && value['origin'] === 'nowhere') return []
    const argument = textOf(value['argument'])
    return value['hits'].flatMap((hit: unknown) => hitOf(argument, hit) ?? [])
  })
}

function hitOf(argument: string, hit: unknown): Hit | undefined {
  if (!isRecord(hit) || !isRecord(hit['from']) || !Array.isArray(hit['at'])) return undefined
  const { source, run, entry, offset, pointer, start, end } = hit['from']
  const [from, to]: readonly unknown[] = hit['at']
  const numbers = [offset, start, end, from, to].map(Number)
  if (numbers.some((one) => !Number.isSafeInteger(one))) return undefined
  const steps: readonly unknown[] = Array.isArray(hit['path']) ? hit['path'] : []
  return {
    argument,
    at: [Number(from), Number(to)],
    view: textOf(hit['view'], 'verbatim'),
    from: {
      ...{ source: String(source), run: String(run), entry: String(entry), pointer: String(pointer) },
      ...{ offset: Number(offset), start: Number(start), end: Number(end) },
    },
    path: steps.flatMap((step) => (isRecord(step) && typeof step['agent'] === 'string' ? [step['agent']] : [])),
  }
}

/** Returns the arguments that the rule asks about. */
function askedOf(evidence: Readonly<Record<string, unknown>>): readonly string[] {
  const { argument, destinations, path } = evidence
  if (typeof argument === 'string') return [argument]
  const listed: readonly unknown[] = Array.isArray(destinations) ? destinations : []
  const paths = listed.flatMap((one) => (isRecord(one) && typeof one['path'] === 'string' ? [one['path']] : []))
  return paths.length === 0 && typeof path === 'string' ? [path] : paths
}

function roleOf(roles: unknown, pointer: string): string | undefined {
  if (!isRecord(roles)) return undefined
  const found = Object.entries(roles).find(([path]) => isWithin(path, pointer))
  return found && String(found[1])
}

const kinds: Readonly<Record<string, string>> = {
  own: 'from the user',
  trusted: 'from trusted data',
  nowhere: 'written by the model',
}

function originOf(origins: unknown, pointer: string, hits: readonly Hit[]): string {
  const sources = new Set(hits.filter(({ argument }) => isWithin(argument, pointer)).map(({ from }) => from.source))
  if (sources.size > 0) return `from ${[...sources].slice(0, 4).join(', ')}`
  const listed: readonly unknown[] = Array.isArray(origins) ? origins : []
  for (const origin of listed) {
    if (!isRecord(origin) || !isWithin(String(origin['path']), pointer)) continue
    const named: readonly unknown[] = Array.isArray(origin['sources']) ? origin['sources'] : []
    const words = kinds[String(origin['kind'])]
    if (named.length > 0)
      return `${words ?? 'from'} ${words === undefined ? '' : '('}${named.slice(0, 4).join(', ')}${words === undefined ? '' : ')'}`
    if (words !== undefined) return words
  }
  return ''
}

function warningsOf(warnings: unknown, pointer: string): readonly string[] {
  const listed: readonly unknown[] = Array.isArray(warnings) ? warnings : []
  return listed.flatMap((one) =>
    isRecord(one) && isWithin(String(one['path']), pointer) && typeof one['text'] === 'string' ? [one['text']] : [],
  )
}

/** Groups hits by the text that they are in: asked about first, then in the order of the log. */
function sourcesOf(hits: readonly Hit[], asked: ReadonlySet<string>): readonly Source[] {
  const groups = Map.groupBy(hits, ({ from }) => `${from.entry} ${from.pointer}`)
  const isAsked = ({ argument }: Hit): boolean => [...asked].some((path) => isWithin(path, argument))
  return [...groups]
    .flatMap(([key, [first, ...more]]): readonly Source[] => {
      if (!first) return []
      const { source: name, run, entry, offset, pointer } = first.from
      const all = [first, ...more].toSorted((a, b) => a.from.start - b.from.start)
      return [{ key, name, run, entry, offset, pointer, hits: all, isAskedAbout: all.some(isAsked) }]
    })
    .toSorted((a, b) => Number(b.isAskedAbout) - Number(a.isAskedAbout) || a.offset - b.offset)
}
