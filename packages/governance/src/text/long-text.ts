/** UTF-16 code units of the longest text that is processed without a pause. */
export const longText: number = 32_768
