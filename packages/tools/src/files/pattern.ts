import { ProvostError } from '@provost/core'
import picomatch from 'picomatch'

const maxPatternLength = 1_000
const maxStars = 4

/**
 * A glob as a test of paths. `**` crosses folders, `*` does not; hidden files match like others.
 *
 * @param options `anyDepth`: a pattern without a slash is matched against the last part of the path alone.
 * @throws ProvostError `invalid-pattern`: too long, or so many stars that matching could take for ever.
 */
export function compileGlob(pattern: string, options: { anyDepth?: boolean } = {}): (path: string) => boolean {
  checkLength(pattern)
  const stars = pattern.replaceAll(/\*{2,}/g, '*').split('/')
  // Each star may multiply the work by the length of a name, so their number is what bounds it.
  if (stars.some((part) => part.split('*').length - 1 > maxStars) || pattern.split('**').length - 1 > maxStars)
    throw invalid(pattern, `it has more than ${maxStars} stars in one part, or more than ${maxStars} times **`)
  try {
    const basename = options.anyDepth === true && !pattern.includes('/')
    return picomatch(pattern.replace(/^\.\//, ''), { dot: true, noextglob: true, basename })
  } catch (cause) {
    throw invalid(pattern, cause instanceof Error ? cause.message : 'it cannot be read')
  }
}

/** @throws ProvostError `invalid-pattern`. */
export function compileRegExp(pattern: string, ignoreCase: boolean): RegExp {
  checkLength(pattern)
  try {
    return new RegExp(pattern, ignoreCase ? 'i' : '')
  } catch (cause) {
    throw invalid(pattern, cause instanceof Error ? cause.message : 'it cannot be read')
  }
}

function checkLength(pattern: string): void {
  if (pattern.length > maxPatternLength) throw invalid(pattern, `it is longer than ${maxPatternLength} characters`)
}

function invalid(pattern: string, why: string): ProvostError {
  const shown = JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern)
  return new ProvostError('invalid-pattern', `The pattern ${shown} cannot be used: ${why}.`, {
    hint: 'Correct or simplify the pattern.',
  })
}
