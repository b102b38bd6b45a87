import { GuestSyntaxError } from './engine.ts'

/** A script is the body of an async function. The wrapper stays on the first line, so that line numbers are unchanged. */
const opening = '(async()=>{'
const closing = '\n})'

/** The script as a function, as the engine receives it. */
export function wrappedScript(source: string): string {
  return opening + source + closing
}

/** Runs `start` and converts the position of a syntax error to one in the script. */
export function inScript<T>(start: () => T): T {
  try {
    return start()
  } catch (error) {
    if (!(error instanceof GuestSyntaxError) || error.line === undefined) throw error
    const place = placeOf(error.line, error.column ?? 1)
    throw new GuestSyntaxError(error.message, place.line, place.column)
  }
}

/** `f<T>(x)` is a comparison in JavaScript. Where such types may occur, they are removed first. */
const genericCall = /(?<!=)>\s*[(`]/

/** How Node shows a position: the line number, that line with perhaps one before it, and a mark below. */
const note = /^[^\n]*:(\d+)\n(?:[^\n]*\n){1,3}?( *)\^/

/** Converts a position in the wrapped text to one in the script. */
export function placeOf(line: number, column: number): { line: number; column: number } {
  return { line, column: line === 1 ? Math.max(1, column - opening.length) : column }
}

/** A script broke the TypeScript parser, which cannot be used again in this thread. */
export class ParserBroken extends GuestSyntaxError {
  constructor() {
    super(
      'The script cannot be parsed: it is nested too deeply, or one of its lines is too long.',
      undefined,
      undefined,
    )
  }
}

/** The parser's codes for invalid scripts. Anything else it throws is a failure of the parser. */
const refusals = new Set<unknown>(['ERR_INVALID_TYPESCRIPT_SYNTAX', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'])

/** What Bun has in place of Node's parser. It writes the script anew, so positions are those of its own text. */
declare const Bun: { readonly Transpiler: new (options: BunOptions) => { transformSync(source: string): string } }

interface BunOptions {
  readonly loader: 'ts'
  readonly deadCodeElimination: false
}

function stripTypes(source: string): string {
  if ('bun' in process.versions) {
    try {
      return new Bun.Transpiler({ loader: 'ts', deadCodeElimination: false }).transformSync(source)
    } catch (error) {
      throw new GuestSyntaxError(String(error), undefined, undefined)
    }
  }
  // The stack of an error is read for the position. Its frames are not needed: Deno takes 50 ms to name one in a `data:` URL.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return process.getBuiltinModule('node:module').stripTypeScriptTypes(source, { mode: 'strip' })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Removes the types and keeps the position of every character. Throws {@link GuestSyntaxError}. */
export function withoutTypes(wrapped: string): string {
  try {
    return stripTypes(wrapped)
  } catch (error) {
    if (error instanceof GuestSyntaxError) throw error
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
 * Passes a script to `start`: JavaScript unchanged, TypeScript without its types. Throws {@link GuestSyntaxError} with
 * the position in the script.
 */
export function startScript(source: string, start: (js: string) => void): void {
  const wrapped = wrappedScript(source)
  inScript(() => {
    if (genericCall.test(source)) return start(withoutTypes(wrapped))
    try {
      return start(wrapped)
    } catch (error) {
      if (!(error instanceof GuestSyntaxError)) throw error
    }
    return start(withoutTypes(wrapped))
  })
}

/** Loads the TypeScript parser, which is slow the first time. A worker does it ahead of need. */
export function warmTypeScript(): void {
  stripTypes('let ready: boolean')
}
