/** Longer texts are looked at in steps, in UTF-16 code units. */
export const longText: number = 32_768
