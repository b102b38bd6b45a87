import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'

/** An answer of the model, or a change of the history that it receives. */
export interface ContextStep {
  readonly kind: 'step' | 'view'
  /** The answer, or the change. */
  readonly entry: IndexEntry
  /** Of the attempts of the step, the last one: tokens of its request. */
  readonly tokensIn: number | undefined
  /** Messages that followed the history in the request of the step, and are not part of it. */
  readonly tail: IndexEntry | undefined
}

/** Returns the steps of all logs and the changes between them, in the order of the logs. */
export function contextSteps(index: SessionIndex): readonly ContextStep[] {
  return [...index.values()].flatMap(({ entries }) => {
    const steps: ContextStep[] = []
    for (const [n, entry] of entries.entries()) {
      if (entry.type === 'view') steps.push({ kind: 'view', entry, tokensIn: undefined, tail: undefined })
      if (entry.type !== 'message' || entry.op !== 'model') continue
      // The log has the attempts of a step before or after its answer.
      const near = entries
        .slice(Math.max(0, n - reach), n + reach)
        .filter(({ step, run }) => step === entry.step && run === entry.run)
      const attempt = near.findLast(({ type }) => type === 'attempt')
      const tail = near.findLast(({ type, offset }) => type === 'tail' && offset < entry.offset)
      steps.push({ kind: 'step', entry, tokensIn: attempt?.tokensIn, tail })
    }
    return steps
  })
}

const reach = 8
