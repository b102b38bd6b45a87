import type { Plugin } from 'rolldown'

/** A character outside of ASCII, with the backslashes before it. */
const foreign = /(?<slashes>\\*)(?<unit>[^\0-\x7f])/g

/**
 * Writes characters outside of ASCII as escapes. The engine keeps a file with only one of them in twice the memory, and
 * needs longer to read it. Such characters are in texts and patterns only: comments are not in the build.
 */
export function inAscii(): Plugin {
  return {
    name: 'in-ascii',
    // Earlier, the code would still be printed anew.
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk') chunk.code = escaped(chunk.code)
    },
  }
}

function escaped(code: string): string {
  return code.replaceAll(foreign, (_, slashes: string, unit: string) => {
    // An odd number of them escapes the character, which an escape does not need.
    const kept = slashes.length % 2 === 1 ? slashes.slice(1) : slashes
    return `${kept}\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
