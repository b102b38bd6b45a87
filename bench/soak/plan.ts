import { randomFrom } from './random.ts'

const kinds = ['pay', 'pay', 'ask', 'research', 'script', 'read', 'read', 'busy', 'cut'] as const

/**
 * What a session does in a step: pays, pays after an approval, asks two helpers, pays from a script, reads a hostile
 * output, or pays after the provider was busy or has cut the stream.
 */
export type SoakCall = (typeof kinds)[number]

/** What a session does, and what is done to it. */
export interface Plan {
  readonly calls: readonly SoakCall[]
  /** The provider refuses the last step for good. */
  readonly fails: boolean
  readonly answer: 'approve' | 'deny' | 'never'
  /** Milliseconds after its beginning at which it is aborted. */
  readonly abortAfterMs: number | undefined
}

const pays: ReadonlySet<SoakCall> = new Set(['pay', 'script', 'busy', 'cut'])

/** Returns the plan of a session; the same for a seed and a number. */
export function planOf(seed: number, n: number): Plan {
  const random = randomFrom(Math.imul(seed, 7_919) ^ Math.imul(n + 1, 104_729))
  const chance = (share: number): boolean => random() < share
  const kind = (): SoakCall => kinds[Math.floor(random() * kinds.length)] ?? 'pay'
  return {
    calls: Array.from({ length: 2 + Math.floor(random() * 6) }, kind),
    fails: chance(0.05),
    answer: chance(0.03) ? 'never' : chance(0.15) ? 'deny' : 'approve',
    abortAfterMs: chance(0.08) ? Math.floor(random() * 4_000) : undefined,
  }
}

/** Returns how many payments a session makes that is not aborted. */
export function paymentsOf({ calls, answer }: Plan): number {
  const reached = answer === 'never' && calls.includes('ask') ? calls.slice(0, calls.indexOf('ask')) : calls
  return reached.filter((call) => pays.has(call) || (call === 'ask' && answer === 'approve')).length
}

/** Returns how a session rests that is not aborted. */
export function endOf({ calls, answer, fails }: Plan): 'completed' | 'failed' | 'suspended' {
  if (answer === 'never' && calls.includes('ask')) return 'suspended'
  return fails ? 'failed' : 'completed'
}
