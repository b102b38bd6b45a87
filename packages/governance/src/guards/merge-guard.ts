import { checkOptions, defineExtension, ProvostError } from '@provost/core'
import type { ChildResult, Extension, KnownKeys } from '@provost/core'

import { createTaintIndex } from '../taint/taint-index.ts'
import { outliersOf, childTrustFold, suspicionOf } from './child-trust.ts'

/** Options of {@link mergeGuard}. */
export interface MergeGuardOptions {
  /** Largest share of untrusted results among the merged ones, from 0 to 1. Default 0.5. */
  readonly untrustedShare?: number
}

/** Share of an answer that makes it a copy if another answer contains it too. */
const copied = 0.6

const optionKeys = {
  untrustedShare: true,
} satisfies KnownKeys<MergeGuardOptions>

function checkShare(share: unknown): void {
  if (typeof share === 'number' && share >= 0 && share <= 1) return
  throw new ProvostError('invalid-option', `The option untrustedShare of mergeGuard is ${String(share)}.`, {
    hint: 'Give a number from 0 to 1.',
  })
}

/**
 * Filters the results of a fan-out before they are merged.
 * - It drops failed children, and untrusted results that repeat another one word for word.
 * - If there are trusted results, untrusted ones get at most their share.
 * - Outliers rank last, and so do agents with failures, copies or outliers in earlier fan-outs of the log.
 */
export function mergeGuard(options: MergeGuardOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'mergeGuard')
  const { untrustedShare = 0.5 } = options
  checkShare(untrustedShare)
  return defineExtension({
    name: 'merge-guard',
    scope: 'tree',
    portable: true,
    hooks: {
      async merge(children, ctx) {
        const done = children.filter(({ status }) => status === 'completed')
        const standings = ctx.fold(childTrustFold)
        const outliers = outliersOf(done)
        const odds = (child: ChildResult): number => (outliers.has(child) ? 1 : 0) + suspicionOf(child, standings)
        const trusted = done.filter(({ label }) => label.integrity === 'trusted')
        const untrusted = done
          .filter(({ label }) => label.integrity === 'untrusted')
          .toSorted((a, b) => odds(a) - odds(b))
        const { kept: distinct, copies } = withoutCopies(untrusted)
        const room =
          trusted.length === 0 || untrustedShare >= 1
            ? distinct.length
            : Math.floor((trusted.length * untrustedShare) / (1 - untrustedShare))
        const taken = new Set([...trusted, ...distinct.slice(0, Math.max(0, room))])
        const left = children.filter((child) => !taken.has(child))
        const odd = [...outliers].filter(({ label }) => label.integrity === 'untrusted')
        if (left.length > 0 || odd.length > 0) {
          const evidence = {
            left: left.map(({ key, agent, status }) => ({ key, agent, status })),
            copies: copies.map(({ key }) => key),
            outliers: odd.map(({ key }) => key),
            suspects: [...copies, ...odd].map(({ agent }) => agent),
          }
          await ctx.audit('flagged', {
            rule: 'merge-guard',
            sources: [...left, ...odd].flatMap(({ label }) => label.sources),
            evidence,
          })
        }
        return children.filter((child) => taken.has(child))
      },
    },
  })
}

/** Keeps the first of the answers that consist mostly of the same words. */
function withoutCopies(children: readonly ChildResult[]): { kept: ChildResult[]; copies: ChildResult[] } {
  const index = createTaintIndex()
  const kept: ChildResult[] = []
  const copies: ChildResult[] = []
  for (const child of children) {
    const shared = index.check(child.text).reduce((most, { span: [start, end] }) => most + end - start, 0)
    if (child.text.length > 0 && shared >= child.text.length * copied) {
      copies.push(child)
      continue
    }
    index.add(child.text, { source: child.key, label: child.label })
    kept.push(child)
  }
  return { kept, copies }
}
