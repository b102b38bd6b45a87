import type { CallFlow, Json } from '@provost/core'

import type { Delivery, GuestCall, GuestEnd, GuestFrame } from '../engine/bridge-frame.ts'
import { batchesOf, readGuestFrame, writeDeliveries } from '../engine/bridge-frame.ts'
import type { Limits } from '../worker/limits.ts'
import { maxSourceLength } from '../worker/limits.ts'
import type { FromWorker, Task } from '../worker/task.ts'
import { flag, flagCount, order, ring } from '../worker/task.ts'
import type { watchdog } from '../worker/watchdog.ts'
import type { WorkerPool } from '../worker/worker-pool.ts'
import type { Reply } from './call-queue.ts'
import { callQueue } from './call-queue.ts'
import { parseClean, writeClean } from './clean-json.ts'
import type { JournalEntry } from './journal.ts'
import { runJournal } from './run-journal.ts'
import type { SandboxError } from './sandbox-error.ts'
import { errorOf, errorOfStop, errorOfThrown } from './sandbox-error.ts'
import type { SandboxResult, SandboxRunOptions, SandboxStats } from './sandbox-options.ts'
import { splitFollowed } from './value-flow.ts'

/** What all runs of a sandbox share. */
export interface SandboxParts {
  readonly pool: WorkerPool
  readonly watchdog: ReturnType<typeof watchdog>
  readonly limits: Limits
  readonly followsValues: boolean
  /** Functions that end the active runs, called when the sandbox closes. */
  readonly running: Set<() => void>
}

/** Time for a stopped script to send its last frame, in ms. */
const lastWordsMs = 120

/** Results that are sent to a script without waiting for more. */
const together = 64

/** Sends an order to the worker of a script. */
function give(cells: Int32Array, what: number): void {
  Atomics.store(cells, flag.order, what)
  ring(cells)
}

/** In front of a log line that depends on untrusted data. */
const untrustedMark = '\u0000'

const nothing: SandboxStats = { fuel: 0, cpuMs: 0, calls: 0, memoryBytes: 0 }

/** One stay of a run on a worker. */
interface WorkerStint {
  readonly cells: Int32Array
  /** Number of recorded results that were sent. */
  sent: number
  /** The worker was asked to release the script if it waits. The script will need all its results then. */
  parking: boolean
  readonly ended: Promise<void>
  post(text: string): void
  cancel(): void
  unwatch(): void
}

/**
 * One run of a script, from its source to its result. The run occupies a worker while it computes, and while waiting is
 * cheap. During a longer wait it exists here as its results so far, and resumes by replay.
 */
export function runScript(around: SandboxParts, source: string, given: SandboxRunOptions): Promise<SandboxResult> {
  const { limits, followsValues } = around
  around.pool.expect()
  const tools = given.tools ?? {}
  const names = Object.keys(tools)
  const journal = runJournal(source, given, limits)
  const { delivered } = journal
  let logs: string[] = []
  let dropped = 0
  let stats = nothing
  let stay: WorkerStint | undefined
  let wall: NodeJS.Timeout | undefined
  let flush: NodeJS.Immediate | undefined
  let recording = Promise.resolve()
  /** The result decided by the host, whatever the script reports at its end. */
  let verdict: SandboxError | undefined
  /** The returned value, while unawaited calls still run. */
  let value: string | undefined
  let over = false
  const { promise, resolve } = Promise.withResolvers<SandboxResult>()

  /** Work items that were sent to the script and have not ended. */
  let pieces = 0
  let working: PromiseWithResolvers<void> | undefined
  const work = (change: number) => {
    pieces += change
    if (pieces > 0 && !working && given.busy) {
      working = Promise.withResolvers()
      given.busy(working.promise)
    } else if (pieces <= 0) {
      working?.resolve()
      working = undefined
    }
  }
  /** Detaches the run from its worker, which has sent its last message. */
  const part = () => {
    stay?.unwatch()
    stay = undefined
  }
  /** Releases a worker that may never notice the end of the run: its thread is ended in that case. */
  const leave = () => {
    if (!stay) return
    const { cells, cancel, ended } = stay
    part()
    give(cells, order.stop)
    const last = setTimeout(cancel, lastWordsMs)
    const noticed = () => clearTimeout(last)
    ended.then(noticed, noticed)
  }
  const resultOf = (json: string): { value: Json; flow?: CallFlow } => {
    const parsed = parseClean(json)
    return followsValues ? splitFollowed(parsed) : { value: parsed }
  }
  /** The size of the value itself. */
  const returnedBytes = (json: string): number => {
    const size = Buffer.byteLength(json)
    if (!followsValues || size <= limits.outputBytes) return size
    return Buffer.byteLength(writeClean(resultOf(json).value))
  }
  const finish = (outcome: { json: string } | SandboxError) => {
    if (over) return
    const returned = 'json' in outcome ? resultOf(outcome.json) : undefined
    over = true
    leave()
    work(-pieces)
    clearTimeout(wall)
    given.signal?.removeEventListener('abort', onAbort)
    around.running.delete(onAbort)
    const more = dropped > 0 ? [`… (${dropped} more lines)`] : []
    const common = {
      logs: [...logs.map((line) => (followsValues && line.startsWith(untrustedMark) ? line.slice(1) : line)), ...more],
      ...(followsValues && { untrustedLogs: logs.map((line) => line.startsWith(untrustedMark)) }),
      stats,
      ...(journal.isComplete && { journal: journal.written(delivered) }),
    }
    if (returned) resolve({ ok: true, ...returned, ...common })
    else if (!('json' in outcome)) resolve({ ok: false, error: outcome, ...common })
    if (calls.open > 0) calls.stop()
  }
  /** Ends the run from outside. The script is asked to stop; if it does not, its thread is ended. */
  const stop = (error: SandboxError) => {
    if (over || verdict) return
    verdict = error
    if (!stay) return finish(error)
    const { cells, cancel } = stay
    const begun = cells[flag.computingSince] !== 0 || cells[flag.waitingSince] !== 0
    give(cells, order.stop)
    const end = () => {
      if (over) return
      cancel()
      finish(error)
    }
    if (begun) setTimeout(end, lastWordsMs)
    else end()
  }
  const onAbort = () => stop(errorOf('aborted', limits))
  const startClock = () => {
    wall ??= setTimeout(() => stop(errorOf('wall-limit', limits)), limits.wallMs)
  }
  /** An exception during a run ends that run only. */
  const guarded =
    <T extends readonly unknown[]>(handle: (...values: T) => void) =>
    (...values: T) => {
      try {
        handle(...values)
      } catch {
        stop(errorOf('engine-failed', limits))
      }
    }

  const deliver = () => {
    if (flush) clearImmediate(flush)
    flush = undefined
    if (over || verdict || value !== undefined) return
    if (!stay) return launch()
    if (stay.sent === delivered.length) return work(-1)
    const fresh = delivered.slice(stay.sent)
    stay.sent = delivered.length
    const batches = batchesOf(fresh)
    for (const batch of batches) stay.post(writeDeliveries(batch))
    work(batches.length - 1)
    // The script stays on its worker, so that its results are not needed again.
    if (!journal.isComplete && !stay.parking) journal.forget(fresh.length)
  }
  /** Batches results. The script does not wait for a large batch to complete, nor when no more results can arrive. */
  const deliverSoon = () => {
    if (!flush) work(1)
    if (calls.open === 0 || delivered.length - (stay?.sent ?? delivered.length) >= together) deliver()
    else flush ??= setImmediate(guarded(deliver))
  }
  const hear = (entry: JournalEntry) => {
    journal.recordDelivery(entry)
    if (value !== undefined && calls.open === 0) return finish({ json: value })
    deliverSoon()
  }
  const answer = (reply: Reply) => {
    if (over) return
    const entry = journal.entryOf(reply)
    if (!entry) return
    const { record } = given
    if (!record) return hear(entry)
    recording = recording
      .then(() => record(entry, journal.written([])))
      .then(
        () => over || hear(entry),
        (error: unknown) => stop(errorOf('engine-failed', limits, `The journal could not be stored: ${String(error)}`)),
      )
      .then(() => undefined)
  }
  const calls = callQueue({ names, tools, limits, followsValues, answer: guarded(answer) })

  const onCall = (call: GuestCall): SandboxError | undefined => {
    const tool = names[call.tool]
    if (tool === undefined) return errorOf('engine-failed', limits)
    const admitted = journal.admit(tool, call)
    if (typeof admitted === 'object') return admitted
    if (admitted) calls.add(call)
    return undefined
  }
  /** Reads the requests of the script. The text is untrusted: an invalid frame ends the run. */
  const read = (text: string): GuestFrame => {
    const frame = readGuestFrame(text)
    logs.push(...frame.lines)
    dropped += frame.dropped
    return frame
  }
  /** Makes calls. Returns the end of the run when one of them is not allowed. */
  const make = (wanted: readonly GuestCall[]): GuestEnd | undefined => {
    for (const call of wanted) {
      const problem = onCall(call)
      if (problem) return { kind: 'limit', ...problem }
    }
    return undefined
  }
  const onEnd = (end: GuestEnd) => {
    if (verdict) return finish(verdict)
    switch (end.kind) {
      case 'ok': {
        const size = returnedBytes(end.json)
        if (size > limits.outputBytes) {
          const message = `The script returned ${size} bytes, the limit is ${limits.outputBytes}. Return less: a summary, or the fields that matter.`
          return finish(errorOf('output-size', limits, message))
        }
        if (calls.open === 0) return finish({ json: end.json })
        // Unawaited calls still run; the worker is already free.
        value = end.json
        startClock()
        return work(-pieces)
      }
      case 'limit':
        if (end.code === 'untrusted-stop') return finish(errorOfStop(end.message, limits))
        return finish(errorOf(end.code, limits, end.message))
      case 'thrown':
        return finish(errorOfThrown(end, limits, stats.memoryBytes))
    }
  }
  /** Executes the requests of the script. Of many calls, some results are delivered while others are still made. */
  const obey = (frame: GuestFrame, from = 0) => {
    if (over) return
    const to = from + together
    const end = make(frame.calls.slice(from, to))
    if (end) onEnd(end)
    else if (to < frame.calls.length) queueMicrotask(guarded(() => obey(frame, to)))
    else if (frame.end) onEnd(frame.end)
    else work(-1)
  }
  const onMessage = (message: FromWorker) => {
    if (over) return
    if (typeof message === 'string') {
      if (message === '') work(-1)
      else obey(read(message))
      return
    }
    part()
    stats = { ...message.figures, cpuMs: Math.round(message.figures.cpuMs * 100) / 100 }
    if ('parked' in message) {
      const behind = message.delivered < delivered.length
      clearImmediate(flush)
      flush = undefined
      work(-pieces)
      if (verdict) finish(verdict)
      else if (behind) deliverSoon()
    } else if ('syntax' in message) {
      const { syntax, line, column } = message
      finish(
        verdict ?? {
          ...errorOf('syntax-error', limits, syntax),
          ...(line !== undefined && { line }),
          ...(column !== undefined && { column }),
        },
      )
    } else {
      const last = message.end === '' ? undefined : read(message.end)
      const end = last && (make(last.calls) ?? last.end)
      if (message.code === undefined && end) return onEnd(end)
      finish(verdict ?? errorOf(message.code ?? 'engine-failed', limits))
    }
  }
  const onFailure = (error: unknown) => {
    const memory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    finish(verdict ?? errorOf(memory ? 'memory-limit' : 'engine-failed', limits))
  }

  /** Starts the script on a worker and replays its results so far. */
  const launch = () => {
    const flags = new SharedArrayBuffer(flagCount * 4)
    const cells = new Int32Array(flags)
    logs = []
    dropped = 0
    const unwatch = around.watchdog.watch({
      cells,
      cpuMs: limits.cpuMs,
      started: startClock,
      hung() {
        verdict ??= errorOf('cpu-limit', limits)
        mine.cancel()
        finish(verdict)
      },
      park() {
        if (!journal.isComplete) return
        mine.parking = true
        give(cells, order.park)
      },
    })
    const [first = [], ...more] = batchesOf(delivered)
    const task: Task = {
      source,
      tools: names,
      acting: given.acting ?? names,
      seed: journal.seed,
      startedAt: journal.startedAt,
      delivered: first.map(({ id, ok, json, at }): Delivery => ({ id, ok, json, at })),
      flags,
    }
    const { ended, post, cancel } = around.pool.run(task, guarded(onMessage))
    const mine: WorkerStint = { cells, sent: delivered.length, parking: false, ended, unwatch, post, cancel }
    stay = mine
    for (const batch of more) post(writeDeliveries(batch))
    work(more.length)
    ended.catch((error: unknown) => {
      if (stay === mine) onFailure(error)
    })
  }

  if (source.length > maxSourceLength) {
    finish(
      errorOf('source-size', limits, `The script has ${source.length} characters, the limit is ${maxSourceLength}.`),
    )
    return promise
  }
  if (given.signal?.aborted) {
    finish(errorOf('aborted', limits))
    return promise
  }
  work(1)
  given.signal?.addEventListener('abort', onAbort, { once: true })
  around.running.add(onAbort)
  launch()
  // The digest is computed while the worker runs.
  journal.written([])
  return promise
}
