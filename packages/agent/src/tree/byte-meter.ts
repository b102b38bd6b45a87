import { noBytes } from '../state/byte-count.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { ByteLimits, ByteMeter } from '../types/run-tree.ts'
import type { RunBytes } from '../types/session-state.ts'

/** The limits as options of an agent or a run. */
export type ByteLimitOptions = { readonly [K in keyof ByteLimits]?: number | undefined }

export const defaultByteLimits: ByteLimits = Object.freeze({ hostBytes: 256 << 20, logBytes: 128 << 20 })

/** Returns the byte limits among options. */
export function byteLimitsIn({ hostBytes, logBytes }: ByteLimitOptions): Partial<ByteLimits> {
  return { ...(hostBytes !== undefined && { hostBytes }), ...(logBytes !== undefined && { logBytes }) }
}

/** Creates the byte meter of a run tree. */
export function createByteMeter(): ByteMeter {
  let limits = defaultByteLimits
  const runs = new Map<string, RunBytes>()
  let [host, log] = [0, 0]

  function count(runId: string, bytes: RunBytes): void {
    const before = runs.get(runId) ?? noBytes
    host += bytes.host - before.host
    log += bytes.log - before.log
    runs.set(runId, bytes)
  }

  return {
    count,
    begin(given) {
      limits = given
      runs.clear()
      host = log = 0
    },
    joined(runId) {
      count(runId, noBytes)
      runs.delete(runId)
    },
    refusal(more) {
      const { hostBytes, logBytes } = limits
      // Written as `!(a <= b)` so that NaN also ends the run.
      if (!(host + more.host <= hostBytes)) {
        const problem = `gave the host ${host + more.host} bytes to judge; the limit hostBytes is ${hostBytes}`
        return exceeded('host-bytes-exceeded', problem, 'hostBytes')
      }
      if (!(log + more.log <= logBytes)) {
        const problem = `would write ${log + more.log} bytes to their logs; the limit logBytes is ${logBytes}`
        return exceeded('log-bytes-exceeded', problem, 'logBytes')
      }
      return undefined
    },
  }
}

function exceeded(code: string, problem: string, option: keyof ByteLimits): RunEnding {
  const hint = `Pass large data by reference, or resume the run with a higher ${option}.`
  return new RunEnding('failed', { code, message: `The run and its children ${problem}.`, hint })
}
