/** Text that was written in another way, with where each of its code units stood. */
export interface Decoded {
  readonly text: string
  /** Where a code unit stood in the text it was decoded from; of the end of the text, where that ended. */
  placeOf(index: number): number
  /** Stretches of `text` that do not belong together: starts and ends in turn. */
  readonly stretches: readonly number[]
  readonly as: 'url' | 'html' | 'json' | 'base64' | 'base64url' | 'hex'
}
