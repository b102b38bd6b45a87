import { stripTypeScriptTypes } from 'node:module'

import { GuestSyntaxError } from './engine.ts'

/** A script is the body of an async function. All on the first line, so that the others keep their number. */
const opening = '(async()=>{'
const closing = '\n})'

/** `f<T>(x)` is a comparison to JavaScript: where types might stand like that they are taken out first. */
const genericCall = /(?<!=)>\s*[(`]/

/** How Node shows a place: the line's number, that line and perhaps one before it, and a mark below. */
const note = /^[^\n]*:(\d+)\n(?:[^\n]*\n){1,3}?( *)\^/

/** Where a place in the wrapped text is in the script. */
export function placeOf(line: number, column: number): { line: number; column: number } {
  return { line, column: line === 1 ? Math.max(1, column - opening.length) : column }
}

/** A script was too much for the parser of TypeScript, which is broken from then on in this thread. */
export class ParserBroken extends GuestSyntaxError {
  constructor() {
    super('The script cannot be read: it is nested too deeply, or a line of it is too long.', undefined, undefined)
  }
}

/** What the parser says of a script; whatever else it throws is a fault of its own. */
const refusals = new Set<unknown>(['ERR_INVALID_TYPESCRIPT_SYNTAX', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'])

/** Takes the types out, each character staying where it was. Throws {@link GuestSyntaxError}. */
function withoutTypes(wrapped: string): string {
  try {
    return stripTypeScriptTypes(wrapped, { mode: 'strip' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && refusals.has(error.code))) throw new ParserBroken()
    const [, line, before] = note.exec(error.stack ?? '') ?? []
    throw new GuestSyntaxError(
      error.message,
      line ? Number(line) : undefined,
      before === undefined ? undefined : before.length + 1,
    )
  }
}

/**
 * Gives a script, JavaScript or TypeScript, to `start`: as it stands if it is JavaScript, else without its types.
 * Throws {@link GuestSyntaxError} with the place in the script.
 */
export function startScript(source: string, start: (js: string) => void): void {
  const wrapped = opening + source + closing
  try {
    if (genericCall.test(source)) return start(withoutTypes(wrapped))
    try {
      return start(wrapped)
    } catch (error) {
      if (!(error instanceof GuestSyntaxError)) throw error
    }
    return start(withoutTypes(wrapped))
  } catch (error) {
    if (!(error instanceof GuestSyntaxError) || error.line === undefined) throw error
    const place = placeOf(error.line, error.column ?? 1)
    throw new GuestSyntaxError(error.message, place.line, place.column)
  }
}

/** Takes time the first time; a worker does it before it is needed. */
export function warmTypeScript(): void {
  stripTypeScriptTypes('let ready: boolean', { mode: 'strip' })
}
