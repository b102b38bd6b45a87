import { checkOptions, defineExtension, ProvostError } from '@provost/core'
import type { ChildResult, Extension, KnownKeys } from '@provost/core'

import { createTaintIndex } from '../taint/taint-index.ts'
import { outliersOf, childTrustFold, suspicionOf } from './child-trust.ts'

/** How much {@link mergeGuard} lets untrusted children weigh. */
export interface MergeGuardOptions {
  /** How many of the merged results may be untrusted, as a share of all that are merged. Default 0.5. */
  readonly untrustedShare?: number
}

/** So much of an answer in another one is no coincidence. */
const copied = 0.6

const optionKeys = {
  untrustedShare: true,
} satisfies KnownKeys<MergeGuardOptions>

function checkShare(share: unknown): void {
  if (typeof share === 'number' && share >= 0 && share <= 1) return
  throw new ProvostError('invalid-option', `The option untrustedShare of mergeGuard is ${String(share)}.`, {
    hint: 'Give a share from 0 to 1.',
  })
}

/**
 * Judges the results of a fan-out before they become one: children that failed are left out, of untrusted ones that say
 * the same thing word for word only the first counts, and where there are trusted ones the untrusted never get more
 * than their share. Those come last who stand alone with what they say, and whose agent failed, copied or stood alone
 * in earlier fan-outs of the log.
 */
export function mergeGuard(options: MergeGuardOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'mergeGuard')
  const { untrustedShare = 0.5 } = options
  checkShare(untrustedShare)
  return defineExtension({
    name: 'merge-guard',
    scope: 'tree',
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

/** Of answers that are mostly one another's words, the first. */
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
