/** Decoded text, with the original position of each code unit. */
export interface Decoded {
  readonly text: string
  /** Returns the original position of a code unit. For the end of the text, it is the original end. */
  placeOf(index: number): number
  /** Stretches of `text` that do not belong together: starts and ends in turn. */
  readonly spans: readonly number[]
  readonly as: 'url' | 'html' | 'json' | 'base64' | 'base64url' | 'hex'
}
