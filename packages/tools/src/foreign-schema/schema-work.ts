import { ProvostError } from '@provost/core'

/** Steps that one check may take: about 50 ms. */
export const mostSteps = 400_000
/** Schemas inside one another, references included. */
const deepest = 300
const mostIssues = 20

/** What a check has left to spend. */
export interface Work {
  left: number
  depth: number
  /** Something that cannot be checked was passed over. */
  unsure: boolean
}

export function newWork(): Work {
  return { left: mostSteps, depth: 0, unsure: false }
}

/** @throws ProvostError `schema-too-costly` where nothing is left. */
export function spend(work: Work, steps: number): void {
  work.left -= steps
  if (!(work.left >= 0)) throw tooCostly(`takes more than ${mostSteps} steps`)
}

/** @throws ProvostError `schema-too-costly` where schemas stand in one another without end. */
export function enter(work: Work): void {
  if (++work.depth > deepest) throw tooCostly(`goes over ${deepest} levels deep, or runs in a circle`)
}

export function leave(work: Work): void {
  work.depth--
}

function tooCostly(why: string): ProvostError {
  return new ProvostError('schema-too-costly', `Checking it against its schema ${why}.`, {
    hint: 'Send less at once, or simplify the schema.',
  })
}

/** Where a value stands. */
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

/** Whether more problems would still be kept. */
export function isOpen(issues: Issues | undefined): issues is Issues {
  return issues !== undefined && issues.list.length < mostIssues
}

function pathOf(place: Place | undefined): readonly string[] {
  const path: string[] = []
  for (let at = place; at; at = at.above) path.push(String(at.key))
  return path.toReversed()
}
