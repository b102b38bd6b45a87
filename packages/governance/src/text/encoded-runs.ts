/** Stretches of a text that may be something encoded, as starts and ends in turn. */
export type Runs = readonly number[]

/** Tokens shorter than this are words. */
const shortestToken = 16
/** Twelve bytes with something between them. */
const shortestPairs = 35

/** It is of an alphabet of base64 or base64url. */
const inToken = 1
/** The unit may belong to bytes in hexadecimal, or separate them. */
const inPairs = 2
const kinds = new Uint8Array(0x10000)
for (let unit = 0; unit < 128; unit++) {
  const char = String.fromCharCode(unit)
  kinds[unit] = (/[\w+/-]/.test(char) ? inToken : 0) | (/[\da-fx\s:,;]/i.test(char) ? inPairs : 0)
}
for (const space of '\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF') {
  kinds[space.charCodeAt(0)] = inPairs
}

/** Tokens long enough to be base64 or hexadecimal. */
export function tokensIn(text: string, stretches: Runs): Runs {
  return runsIn(text, stretches, inToken, shortestToken)
}

/** Stretches long enough to be bytes in hexadecimal one by one. */
export function pairsIn(text: string, stretches: Runs): Runs {
  return runsIn(text, stretches, inPairs, shortestPairs)
}

/** The last unit of a run of `least` units is checked first: if it does not match, no run crosses it. */
function runsIn(text: string, stretches: Runs, kind: number, least: number): Runs {
  const found: number[] = []
  for (let n = 0; n < stretches.length; n += 2) {
    const end = stretches[n + 1] ?? 0
    // The units from `start` to `known` fit.
    let [start, known] = [stretches[n] ?? 0, stretches[n] ?? 0]
    for (let behind = start + least; behind <= end; behind = start + least) {
      let at = behind
      while (at > known && ((kinds[text.charCodeAt(at - 1)] ?? 0) & kind) !== 0) at--
      const isRun = at === known
      known = behind
      if (isRun) {
        while (known < end && ((kinds[text.charCodeAt(known)] ?? 0) & kind) !== 0) known++
        found.push(start, known)
      }
      start = isRun ? known : at
    }
  }
  return found
}
