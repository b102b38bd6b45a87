import type { ArgRole, HookContext, JsonPointer, Steps } from '@provost/core'
import { isPromise } from '@provost/core'

import type { Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import type { Origin } from '../provenance/origin.ts'
import type { Provenance } from '../provenance/provenance-state.ts'
import { provenanceFold } from '../provenance/provenance.ts'
import type { TaintEncoding, TaintHit } from '../taint/taint-hit.ts'
import { lettersOf } from '../taint/taint-hit.ts'
import { canonicalBytes } from '../text/canonical-text.ts'
import type { Located } from './located.ts'
import { locateLeaf, locateLetters, locateValue, locateWord, nameOf } from './located.ts'

/**
 * Where a judged value of a call comes from, as the evidence of a decision or a question lists it in `values`. It has
 * positions and names only, no text.
 *
 * @example
 * { argument: '/to', role: 'destination', origin: 'prose', hits: [{
 *   at: [0, 11], view: 'verbatim', from: { run, entry, offset: 9, pointer: '/mails/0/body', start: 14, end: 25, source: 'read_inbox' },
 *   path: [{ agent: 'reader', run, entry, offset: 9 }, { agent: 'clerk', run, entry, offset: 12 }] }] }
 */
export interface ValueEvidence {
  /** The argument, as a JSON pointer. */
  readonly argument: JsonPointer
  readonly role: ArgRole
  readonly origin: Origin['kind']
  /** The parts of the value that have a known source, at most 8. */
  readonly hits: readonly ValueHit[]
}

/** A part of an argument, and its place in a source. */
export interface ValueHit {
  /** In the argument, in UTF-16 code units. */
  readonly at: readonly [start: number, end: number]
  /** How the argument writes what the source has. */
  readonly view: TaintEncoding
  readonly from: ValuePlace
  /** The agents that it came through, from the first that read it to the one that makes the call. */
  readonly path: readonly ValueStep[]
}

/** A place in the log of a run. */
export interface ValuePlace {
  /** The name of the source in labels and audit rows. */
  readonly source: string
  /** The id of the run: a child has its own log. */
  readonly run: string
  /** The id of the entry, and its offset in the log. */
  readonly entry: string
  readonly offset: number
  /** The value of the output; empty if the whole output is one text. */
  readonly pointer: string
  /** In that value, in UTF-16 code units. */
  readonly start: number
  readonly end: number
}

/** An agent that a value came through. */
export interface ValueStep {
  readonly agent: string
  readonly run: string
  /** The entry that brought the value to the agent: a result, a message or a handoff. Absent for a child that returned it. */
  readonly entry?: string
  readonly offset?: number
}

const mostValues = 16
const mostHits = 8
const mostSteps = 16
/** Runs above a child whose logs are searched. */
const mostLevels = 8
/** Letters of the shortest word that is looked up in sources. */
const shortestWord = 3

/** A run whose log is searched. */
interface Level {
  readonly state: Provenance
  /** The agent that acts. */
  readonly agent: string
  readonly run: string
}

/** Returns the places of the judged values of a call that are not the user's own. */
export async function valueEvidence(
  sink: Sink,
  ctx: HookContext,
  above: (ctx: HookContext) => HookContext | undefined,
): Promise<readonly ValueEvidence[]> {
  const levels: Level[] = []
  for (let at: HookContext | undefined = ctx; at && levels.length < mostLevels; at = above(at)) {
    const folding = at.foldInTurns(provenanceFold)
    const state = isPromise(folding) ? await folding : folding
    if (!state) break
    levels.push({ state, agent: at.agent.name, run: at.run.id })
  }
  return ctx.inTurns(evidenceIn(sink, levels))
}

function* evidenceIn({ values, hits }: Sink, levels: readonly Level[]): Steps<readonly ValueEvidence[]> {
  const found: ValueEvidence[] = []
  const judged = values.filter(({ origin }) => origin.kind !== 'own' && origin.kind !== 'trusted')
  for (const one of judged.slice(0, mostValues)) {
    yield
    const own = hits.filter(({ path }) => path === one.path)
    const located: ValueHit[] = []
    for (const hit of own.slice(0, mostHits)) {
      const letters = lettersOfPart(one, hit)
      if (!letters) continue
      const place = yield* throughLevels(levels, letters, ({ state }) => locateLetters(state, letters, hit.source))
      if (place) located.push({ at: hit.span, view: hit.view, ...place })
    }
    if (located.length === 0) located.push(...(yield* byOrigin(one, levels)))
    found.push({ argument: one.path, role: one.role, origin: one.origin.kind, hits: located })
  }
  return found.filter((one) => one.hits.length > 0)
}

/** Returns the letters of a hit in one value. The span may go on in the next value; a source above may not have both. */
function lettersOfPart({ value }: TracedValue, hit: TaintHit): Uint8Array | undefined {
  const isPlain = hit.view === 'verbatim' || hit.view === 'normalised'
  return isPlain ? canonicalBytes(value.slice(...hit.span)) : lettersOf(hit)
}

/** Returns the places of a value that is too short for the taint index. */
function* byOrigin({ value, origin }: TracedValue, levels: readonly Level[]): Steps<readonly ValueHit[]> {
  const letters = canonicalBytes(value)
  const whole = [0, value.length] as const
  const located: ValueHit[] = []
  if ('leaves' in origin || 'sources' in origin) {
    const count = 'leaves' in origin ? origin.leaves.length : origin.sources.length
    for (let n = 0; n < Math.min(count, mostHits); n++) {
      const leaf = 'leaves' in origin ? origin.leaves[n] : undefined
      const source = 'sources' in origin ? origin.sources[n] : undefined
      const place = yield* throughLevels(levels, letters, function* () {
        if (leaf) return yield* locateLeaf(leaf)
        return source && (yield* locateValue(source, value))
      })
      if (place) located.push({ at: whole, view: 'verbatim', ...place })
    }
    return located
  }
  // The model put the value together: its parts have sources of their own.
  for (const part of partsOf(value)) {
    for (const [at, text] of [part, ...wordsIn(part)]) {
      if (located.length >= mostHits) return located
      const place = yield* throughLevels(levels, canonicalBytes(text), ({ state }) => locateWord(state, text))
      if (place) located.push({ at: [at, at + text.length], view: 'verbatim', ...place })
      // The words of a part that has a source say no more.
      if (place && text === part[1]) break
    }
  }
  return located
}

/** Characters of a value whose parts are looked up, and the number of parts. */
const longestComposed = 2_000
const mostParts = 32

type Part = readonly [at: number, text: string]

/** Returns the parts of a value between white space and separators. */
function partsOf(value: string): readonly Part[] {
  const found = value.slice(0, longestComposed).matchAll(/[^\s,;<>()"']+/gu)
  return Array.from(found, ({ index, 0: text }): Part => [index, text])
    .filter(([, text]) => text.length >= shortestWord)
    .slice(0, mostParts)
}

/** Returns the words of a part that has several. */
function wordsIn([start, part]: Part): readonly Part[] {
  const found = part.matchAll(/[\p{L}\p{N}]+(?:[-_.][\p{L}\p{N}]+)*/gu)
  return Array.from(found, ({ index, 0: text }): Part => [start + index, text])
    .filter(([, text]) => text.length >= shortestWord && text !== part)
    .slice(0, mostHits)
}

/**
 * Finds a place in the log of the acting run. If that is what the run above wrote, the place is searched for in the log of
 * the run above, and so on.
 */
function* throughLevels(
  levels: readonly Level[],
  letters: Uint8Array,
  first: (level: Level) => Steps<Located | undefined>,
): Steps<Pick<ValueHit, 'from' | 'path'> | undefined> {
  const path: ValueStep[] = []
  let from: ValuePlace | undefined
  for (const [depth, level] of levels.entries()) {
    yield
    const located: Located | undefined = depth === 0 ? yield* first(level) : yield* locateLetters(level.state, letters)
    if (!located) break
    from = placeOf(located)
    path.unshift(...stepsOf(level, located))
    if (!located.source.place.isInput) break
  }
  return from && { from, path: path.slice(-mostSteps) }
}

function placeOf({ source, pointer, start, end }: Located): ValuePlace {
  const { id, offset, runId } = source.place.entry
  return { source: nameOf(source), run: runId, entry: id, offset, pointer, start, end }
}

/** Returns the agents of one run that a value came through. */
function stepsOf({ state }: Level, { source }: Located): readonly ValueStep[] {
  const { entry, callId } = source.place
  const children = callId === undefined ? [] : (state.children.get(callId) ?? [])
  const [child] = children.length === 1 ? children : []
  const handoffs = state.handoffs.slice(-mostSteps).filter((handoff) => handoff.entry.offset > entry.offset)
  return [
    ...(child ? [{ agent: child.agent, run: child.run }] : []),
    { agent: entry.agent, run: entry.runId, entry: entry.id, offset: entry.offset },
    ...handoffs.map(({ to, entry: { id, offset, runId } }) => ({ agent: to, run: runId, entry: id, offset })),
  ]
}
