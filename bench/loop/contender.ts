/** What a run really did: what was executed, and what its stream told. */
export interface Tally {
  /** Tools executed. */
  executed: number
  /** Text chunks in the stream. */
  chunks: number
  /** Tool results in the stream. */
  results: number
  /** Messages in the last request the model got. */
  prompt: number
  /** The last text of the run. */
  text: string
}

export interface Contender {
  readonly name: string
  /** The npm package it comes from. */
  readonly package: string
  /** Builds agent, tools and model, and returns what runs them once. Only the latter is measured. */
  prepare(steps: number): () => Promise<Tally>
}

export function emptyTally(): Tally {
  return { executed: 0, chunks: 0, results: 0, prompt: 0, text: '' }
}
