import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'

/** An answer of the model, or a change of the history that it receives. */
export interface ContextStep {
  readonly kind: 'step' | 'view'
  /** The answer, or the change. */
  readonly entry: IndexEntry
  /** Of the attempts of the step, the last one: tokens of its request. */
  readonly tokensIn: number | undefined
}

/** Returns the steps of all logs and the changes between them, in the order of the logs. */
export function contextSteps(index: SessionIndex): readonly ContextStep[] {
  return [...index.values()].flatMap(({ entries }) => {
    const steps: ContextStep[] = []
    for (const [n, entry] of entries.entries()) {
      if (entry.type === 'view') steps.push({ kind: 'view', entry, tokensIn: undefined })
      if (entry.type !== 'message' || entry.op !== 'model') continue
      // The log has the attempts of a step before or after its answer.
      const near = entries.slice(Math.max(0, n - reach), n + reach)
      const attempt = near.findLast(
        ({ type, step, run }) => type === 'attempt' && step === entry.step && run === entry.run,
      )
      steps.push({ kind: 'step', entry, tokensIn: attempt?.tokensIn })
    }
    return steps
  })
}

const reach = 8
