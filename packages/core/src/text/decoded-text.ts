/** A text made from another one, such as one with its escapes decoded, and where its code units come from. */
export interface DecodedText {
  readonly text: string
  /** Returns the position of a code unit in the original text. */
  placeOf(index: number): number
  /** Returns the position after the code units before `index` in the original text. */
  endOf(index: number): number
}
