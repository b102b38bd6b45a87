/**
 * Inputs whose outcome does not hold yet, and what happens instead. The driver runs them all the same; the test, which shares
 * its process with them, does not. Empty is right.
 */
export const openFaults: Readonly<Record<string, string>> = {}
