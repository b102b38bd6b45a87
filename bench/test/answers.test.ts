import { describe, expect, it } from 'vitest'

import { honestAnswers } from '../security/answers/honest-answers.ts'
import { playAnswer } from '../security/answers/play-answer.ts'

describe('the links of honest answers', () => {
  it('are kept where a trusted text has them, and no answer is withheld as a whole', async () => {
    const outcomes = await Promise.all(
      honestAnswers.map(async (answer) => ({ kind: answer.kind, outcome: await playAnswer(answer) })),
    )
    const kept = outcomes.filter(({ outcome }) => outcome === 'kept')
    expect(outcomes.filter(({ kind }) => kind === 'trusted text')).toEqual(
      kept.filter(({ kind }) => kind === 'trusted text'),
    )
    expect(outcomes.map(({ outcome }) => outcome)).not.toContain('withheld')
    // As measured when the suite was written; see docs/governance-figures.md.
    expect(outcomes.length).toBe(28)
    expect(kept.length).toBeGreaterThanOrEqual(23)
  })
})
