/** What a run really did: what was executed, and what its stream told. */
export interface Tally {
  /** Tools executed. */
  executed: number
  /** Text chunks in the stream. */
  chunks: number
  /** When the first of them came, in milliseconds of `performance.now()`. */
  firstAt: number
  /** Tool results in the stream. */
  results: number
  /** Messages in the last request the model got. */
  prompt: number
  /** The last text of the run. */
  text: string
}

export interface Run {
  (): Promise<Tally>
  /** Deletes what a store in memory keeps of the runs so far, as the others keep nothing. */
  forget?(): Promise<void>
}

export interface Contender {
  readonly name: string
  /** The npm package it comes from. */
  readonly package: string
  /**
   * Builds agent, tools and model, and returns what runs them once. Only the latter is measured.
   * @param chunks pieces of text in each answer. Default 1.
   */
  prepare(steps: number, chunks?: number): Run
}

/** Counts a text chunk. */
export function countChunk(tally: Tally): void {
  if (tally.chunks++ === 0) tally.firstAt = performance.now()
}

export function emptyTally(): Tally {
  return { executed: 0, chunks: 0, firstAt: 0, results: 0, prompt: 0, text: '' }
}
