import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let gc: NodeJS.GCFunction | undefined

/**
 * Collects the garbage of this thread. V8 does so when its own memory fills up, which in a worker takes long: what it
 * keeps there is small, and the memories of WebAssembly behind it, which are large, hardly count.
 */
export function cleanHeap(): void {
  if (!gc) {
    // While the flag is set, new contexts have the function. Nobody else's is made meanwhile.
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc')
    setFlagsFromString('--no-expose-gc')
  }
  gc?.()
}
