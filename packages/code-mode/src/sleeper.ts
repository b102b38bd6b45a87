import { flag } from './task.ts'

/** For how long is looked before sleeping, in ms: longer than a tool takes that answers at once. */
const lookMs = 0.06
/** How many times is not looked after it was in vain. */
const inVain = 64

/**
 * Waits for a letter beyond `letters`. To wake a thread costs more than most answers of tools that answer at once, so the
 * thread looks for a moment before it sleeps; where it shares its core with who should write, that is seen and left.
 */
export function sleeper(cells: Int32Array): (letters: number) => void {
  let skip = 0
  const arrives = (letters: number): boolean => {
    const until = performance.now() + lookMs
    do {
      for (let i = 0; i < 100; i++) if (Atomics.load(cells, flag.letters) !== letters) return true
    } while (performance.now() < until)
    return false
  }
  return (letters) => {
    if (skip > 0) skip--
    else if (arrives(letters)) return
    else skip = inVain
    Atomics.wait(cells, flag.letters, letters)
  }
}
