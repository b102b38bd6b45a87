import type { ChildResult, Fold, Json } from '@provost/core'
import { assertNever, isRecord } from '@provost/core'

import { wordsOf } from '../wording/exact-form.ts'

/** The record of earlier children, by agent. */
export interface ChildTrust {
  /** The agents of children that have not ended. */
  readonly open: Readonly<Record<string, string>>
  readonly byAgent: Readonly<Record<string, TrustRecord>>
}

interface TrustRecord {
  readonly runs: number
  /** Children that failed, copied another result, or were outliers. */
  readonly marks: number
}

/** Folds the results of agents in the fan-outs of this log. */
export const childTrustFold: Fold<ChildTrust> = {
  key: 'governance/child-standing',
  initial: { open: {}, byAgent: {} },
  apply(state: ChildTrust, entry): ChildTrust {
    switch (entry.type) {
      case 'child': {
        if (entry.op === 'spawned') return { ...state, open: { ...state.open, [entry.callId]: entry.agent } }
        if (entry.status === 'suspended') return state
        const { [entry.callId]: agent, ...open } = state.open
        if (agent === undefined) return state
        return { open, byAgent: marked(state.byAgent, agent, 1, entry.status === 'failed' ? 1 : 0) }
      }
      case 'audit':
        return entry.rule === 'merge-guard' ? withSuspects(state, entry.evidence) : state
      case 'run':
      case 'message':
      case 'attempt':
      case 'call':
      case 'wait':
      case 'resolved':
      case 'handoff':
      case 'view':
      case 'tail':
      case 'memo':
      case 'ext':
        return state
      default:
        return assertNever(entry)
    }
  },
}

function withSuspects(state: ChildTrust, evidence: Json): ChildTrust {
  const agents = isRecord(evidence) ? evidence['suspects'] : undefined
  if (!Array.isArray(agents)) return state
  let { byAgent } = state
  for (const agent of agents) if (typeof agent === 'string') byAgent = marked(byAgent, agent, 0, 1)
  return { ...state, byAgent }
}

function marked(known: ChildTrust['byAgent'], agent: string, runs: number, marks: number): ChildTrust['byAgent'] {
  const before = Object.hasOwn(known, agent) ? known[agent] : undefined
  const after = { runs: (before?.runs ?? 0) + runs, marks: (before?.marks ?? 0) + marks }
  return Object.fromEntries([...Object.entries(known).filter(([name]) => name !== agent), [agent, after]])
}

/** Returns the marks per run of a child's agent, from 0. */
export function suspicionOf({ agent }: ChildResult, { byAgent }: ChildTrust): number {
  const standing = Object.hasOwn(byAgent, agent) ? byAgent[agent] : undefined
  return standing ? standing.marks / Math.max(1, standing.runs) : 0
}

/** Children needed to find an outlier. */
const fewest = 3
const longestText = 20_000

/** Returns the children that share hardly a word with the others, if the others share many. */
export function outliersOf(children: readonly ChildResult[]): ReadonlySet<ChildResult> {
  if (children.length < fewest) return new Set()
  const texts = children.map((child) => ({ child, words: new Set(wordsOf(child.text.slice(0, longestText))) }))
  const having = new Map<string, number>()
  for (const { words } of texts) for (const word of words) having.set(word, (having.get(word) ?? 0) + 1)
  const shared = texts.map(({ child, words }) => {
    let sum = 0
    for (const word of words) sum += ((having.get(word) ?? 1) - 1) / (children.length - 1)
    return { child, share: words.size === 0 ? 0 : sum / words.size }
  })
  const middle = shared.map(({ share }) => share).toSorted((a, b) => a - b)[shared.length >> 1] ?? 0
  // Children with different tasks share few words, so they have no outliers.
  if (middle < 0.2) return new Set()
  return new Set(shared.flatMap(({ child, share }) => (share < middle / 4 ? [child] : [])))
}
