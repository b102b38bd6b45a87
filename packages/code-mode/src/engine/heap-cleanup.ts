import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let gc: NodeJS.GCFunction | undefined

/**
 * Collects the garbage of this thread. V8 collects when its own heap fills up, which takes long in a worker. A worker's
 * heap is small, and the large WebAssembly memories behind it hardly count.
 */
export function cleanHeap(): void {
  if (!gc) {
    // While the flag is set, new contexts have the function. No other context is created meanwhile.
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc')
    setFlagsFromString('--no-expose-gc')
  }
  gc?.()
}
