import { ProvostError } from '@provost/core'
import picomatch from 'picomatch'

import { itemsMs, withDeadline } from './deadline.ts'

const maxPatternLength = 1_000
const maxStars = 4
const maxRepeatedLength = 20_000
/** Instructions: what a character of a line costs at most. */
const maxProgramSize = 1_000

/**
 * Returns a test of paths for a glob. `**` crosses folders, `*` does not.
 *
 * @param options `anyDepth`: a pattern without a slash matches the last part of a path; `hidden`: names with a leading
 * dot match like others.
 * @throws ProvostError `invalid-pattern` for a pattern that is too long or has too many stars.
 */
export function compileGlob(
  pattern: string,
  options: { anyDepth?: boolean; hidden?: boolean } = {},
): (path: string) => boolean {
  checkLength(pattern)
  const stars = pattern.replaceAll(/\*{2,}/g, '*').split('/')
  // Each star may multiply the work by the length of a name, so their number is what bounds it.
  if (stars.some((part) => part.split('*').length - 1 > maxStars) || pattern.split('**').length - 1 > maxStars)
    throw invalid(pattern, `it has more than ${maxStars} stars in one part, or more than ${maxStars} times **`)
  try {
    const basename = options.anyDepth === true && !pattern.includes('/')
    const given = { dot: options.hidden === true, noextglob: true, basename }
    // Braces within braces may multiply.
    return withDeadline(itemsMs, () => picomatch(pattern.replace(/^\.\//, ''), given))
  } catch (cause) {
    throw invalid(pattern, cause instanceof Error ? cause.message : 'it cannot be read')
  }
}

/** Returns whether a glob names a hidden file or folder by its dot. */
export function namesHidden(pattern: string): boolean {
  return /(?:^|[/{,])\.(?!\.?(?:\/|$))/.test(pattern)
}

/** Tests whether a line matches. */
export interface LineTest {
  test(line: string): boolean
}

/**
 * Returns a regular expression in the syntax of RE2, like ripgrep: without backreferences and lookaround, so that
 * matching is linear for any expression.
 *
 * @throws ProvostError `invalid-pattern`.
 */
export async function compileRegExp(pattern: string, ignoreCase: boolean): Promise<LineTest> {
  checkLength(pattern)
  if (writtenOut(pattern) > maxRepeatedLength) throw invalid(pattern, 'it repeats too much')
  const { RE2JS } = await import('re2js')
  try {
    const expression = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    if (expression.programSize() <= maxProgramSize) return expression
  } catch (cause) {
    throw invalid(pattern, cause instanceof Error ? cause.message : 'it cannot be read')
  }
  throw invalid(pattern, 'it is too complex')
}

/**
 * Returns the approximate length of an expression after its counted repetitions are written out, which is the cost to
 * compile it.
 */
function writtenOut(pattern: string): number {
  const open = [0]
  let last = 0
  for (const [part, , least, most] of pattern.matchAll(
    /\\.|\[\^?\]?(?:\\.|\[:\^?\w*:\]|[^\]\\])*\]?|(\{(\d{1,9})(?:,(\d{0,9}))?\})|[^]/gu,
  )) {
    if (least !== undefined) {
      last *= Math.max(Number(least), Number(most ?? 0), 1)
      continue
    }
    const outer = (open.pop() ?? 0) + last
    last = 1
    if (part === '(') open.push(outer, 0)
    else if (part !== ')' || open.length === 0) open.push(outer)
    else last = outer + 1
  }
  return open.reduce((sum, size) => sum + size, last)
}

function checkLength(pattern: string): void {
  if (pattern.length > maxPatternLength) throw invalid(pattern, `it is longer than ${maxPatternLength} characters`)
}

function invalid(pattern: string, why: string): ProvostError {
  const shown = JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern)
  return new ProvostError('invalid-pattern', `The pattern ${shown} cannot be used: ${why}.`, {
    hint: 'Correct or simplify the pattern. Backreferences and lookaround are not supported.',
  })
}
