import { ProvostError } from '@provost/core'
import picomatch from 'picomatch'

import { itemsMs, withDeadline } from './deadline.ts'

const maxPatternLength = 1_000
const maxStars = 4
const maxRepeatedLength = 20_000
/** Instructions: what a character of a line costs at most. */
const maxProgramSize = 1_000

/**
 * A glob as a test of paths. `**` crosses folders, `*` does not.
 *
 * @param options `anyDepth`: a pattern without a slash is matched against the last part of the path alone; `hidden`:
 * a name that begins with a dot matches like others, not only where the pattern has that dot.
 * @throws ProvostError `invalid-pattern`: too long, or so many stars that matching could take for ever.
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

/** Whether a glob asks for a hidden file or folder by its dot. */
export function namesHidden(pattern: string): boolean {
  return /(?:^|[/{,])\.(?!\.?(?:\/|$))/.test(pattern)
}

/** What tells whether a line matches. */
export interface LineTest {
  test(line: string): boolean
}

/**
 * A regular expression in the language of RE2, which is ripgrep's too: no backreferences and no looking around, hence
 * matching takes time in proportion to the line, whatever the expression.
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

/** About how long an expression is once its counted repetitions are written out: what compiling it costs. */
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
    hint: 'Correct or simplify the pattern. There are no backreferences and no looking around.',
  })
}
