/** The required part of a terminal's input; `process.stdin` has it. */
export interface KeyInput {
  readonly isTTY?: boolean
  readonly isRaw?: boolean
  setRawMode?(raw: boolean): unknown
  on(event: 'data', listener: (data: Buffer | string) => void): unknown
  off(event: 'data', listener: (data: Buffer | string) => void): unknown
  resume(): unknown
  pause(): unknown
}

/** Milliseconds without a key after which earlier input has ended. */
const quietMs = 60
/** Milliseconds after which continuing input is given up. */
const mostMs = 2_000

/**
 * Discards earlier input: keys typed before a question appeared are not its answer.
 *
 * @param interrupted called for a Ctrl-C in the input.
 * @returns false when input keeps coming, so that no answer can be distinguished from it.
 */
export function discardKeys(input: KeyInput, interrupted: () => void): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const wasRaw = input.isRaw === true
  // In line mode the terminal would keep an incomplete line and return it with the answer.
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
