import { ProvostError } from '@provost/core'

/** Steps that one check may take: about 50 ms. */
export const mostSteps = 400_000
/** Schemas inside one another, references included. */
const deepest = 300
const mostIssues = 20

/** The remaining budget of a check. */
export interface Work {
  remaining: number
  depth: number
  /** An unsupported part was ignored. */
  unsure: boolean
}

export function newWork(): Work {
  return { remaining: mostSteps, depth: 0, unsure: false }
}

/** @throws ProvostError `schema-too-costly` if the budget is spent. */
export function spend(work: Work, steps: number): void {
  work.remaining -= steps
  if (!(work.remaining >= 0)) throw tooCostly(`takes more than ${mostSteps} steps`)
}

/** @throws ProvostError `schema-too-costly` for schemas that are nested too deeply. */
export function enter(work: Work): void {
  if (++work.depth > deepest) throw tooCostly(`exceeds ${deepest} levels, or runs in a circle`)
}

export function leave(work: Work): void {
  work.depth--
}

function tooCostly(why: string): ProvostError {
  return new ProvostError('schema-too-costly', `Checking it against its schema ${why}.`, {
    hint: 'Send less at once, or simplify the schema.',
  })
}

/** The place of a value. */
export interface Place {
  readonly above: Place | undefined
  readonly key: string | number
}

/** Problems that were found; undefined when the caller does not need them. */
export interface Issues {
  readonly list: { readonly path: readonly string[]; readonly message: string }[]
}

export function report(issues: Issues | undefined, place: Place | undefined, message: string): false {
  if (issues && issues.list.length < mostIssues) issues.list.push({ path: pathOf(place), message })
  return false
}

/** Returns whether more problems can be recorded. */
export function isOpen(issues: Issues | undefined): issues is Issues {
  return issues !== undefined && issues.list.length < mostIssues
}

function pathOf(place: Place | undefined): readonly string[] {
  const path: string[] = []
  for (let at = place; at; at = at.above) path.push(String(at.key))
  return path.toReversed()
}
