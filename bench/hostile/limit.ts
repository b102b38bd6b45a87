/** The longest event-loop gap that an input of up to 1 MB may make, in ms. */
export const longestGapMs = 250
