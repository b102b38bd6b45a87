/** What is needed of a terminal's input; `process.stdin` has it. */
export interface KeyInput {
  readonly isTTY?: boolean
  readonly isRaw?: boolean
  setRawMode?(raw: boolean): unknown
  on(event: 'data', listener: (data: Buffer | string) => void): unknown
  off(event: 'data', listener: (data: Buffer | string) => void): unknown
  resume(): unknown
  pause(): unknown
}

/** Milliseconds without a key after which what was typed before is taken to have ended. */
const quietMs = 60
/** Milliseconds after which keys that keep coming are given up on. */
const mostMs = 2_000

/**
 * Throws away what was typed or pasted before: it cannot be the answer to a question that nobody has seen.
 *
 * @param interrupted is called for a Ctrl-C among it.
 * @returns false where keys keep coming, so that no answer could be told from them.
 */
export function discardKeys(input: KeyInput, interrupted: () => void): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const wasRaw = input.isRaw === true
  // Line by line, the terminal would keep back a line that is not complete, and hand it out with the answer.
  input.setRawMode?.(true)
  let quiet = setTimeout(() => end(true), quietMs)
  const most = setTimeout(() => end(false), mostMs)

  function discard(data: Buffer | string): void {
    clearTimeout(quiet)
    quiet = setTimeout(() => end(true), quietMs)
    if (String(data).includes('\u0003')) interrupted()
  }

  function end(isQuiet: boolean): void {
    clearTimeout(quiet)
    clearTimeout(most)
    input.off('data', discard)
    input.pause()
    input.setRawMode?.(wasRaw)
    resolve(isQuiet)
  }

  input.on('data', discard)
  input.resume()
  return promise
}
