import { once } from 'node:events'
import { workerData } from 'node:worker_threads'

import { type Delivery, glanceAtFrame, readDeliveries } from '../engine/bridge-frame.ts'
import { type Guest, GuestStopped, GuestSyntaxError } from '../engine/engine.ts'
import { bootWith, guestBoot } from '../engine/guest-boot.ts'
import { createQuickJs } from '../engine/quickjs.ts'
import { ParserBroken, startScript, warmTypeScript } from '../engine/script-source.ts'
import { placesOf, startFollowed } from '../flow/followed-script.ts'
import { guestFlow } from '../flow/guest-flow.ts'
import { workerSpinWait } from './spin-wait.ts'
import { flag, type FromWorker, order, type RunFigures, type Task, tick } from './task.ts'
import type { Serving } from './worker-channel.ts'
import { type WorkerMessages, workerMessages } from './worker-messages.ts'
import type { WorkerSetup } from './worker-pool.ts'

/** Largest size of all log lines of a script, and of one line. */
const logLength = 16_384
const lineLength = 2048

/** Idle time in ms after which the thread returns to its pool. A process without other work stays alive that long. */
const idleMs = 100

const { code, limits, followsValues }: WorkerSetup = workerData
const engine = createQuickJs(code, { ...limits, boot: followsValues ? bootWith(guestFlow) : guestBoot })
const wait = workerSpinWait()

/** A guest created ahead for these tools, in idle time. No script has run in it. */
let spare: { readonly tools: string; readonly guest: Guest } | undefined

/** JSON cannot express infinity. */
const finite = (limit: number) => Math.min(limit, Number.MAX_VALUE)
const guestLimits = {
  toolCalls: finite(limits.toolCalls),
  argBytes: finite(limits.argBytes),
  outputBytes: finite(limits.outputBytes),
  errorBytes: finite(limits.errorBytes),
  logLength,
  lineLength,
}

const keyOf = (tools: readonly string[]) => JSON.stringify(tools)

function prepareSpare(tools: readonly string[]): void {
  const guest = engine.prepare()
  guest.setup({ tools, limits: guestLimits })
  spare = { tools: keyOf(tools), guest }
}

function guestFor(tools: readonly string[]): Guest {
  const made = spare
  spare = undefined
  const guest = made?.guest ?? engine.prepare()
  if (made?.tools !== keyOf(tools)) guest.setup({ tools, limits: guestLimits })
  guest.warm()
  return guest
}

/** The worker's part of one stay of a run: until the script ends or is parked. */
function stretch(guest: Guest, task: Task, mail: WorkerMessages): void {
  const cells = new Int32Array(task.flags)
  let fuel = 0
  let computed = 0
  let startedAt = 0
  let calls = 0
  let delivered = 0
  let now = task.startedAt
  let limit: string | undefined
  let over = false
  let begun = false
  let awaited = false
  /** Converts positions in the text of the engine to those of the script. */
  let own = placesOf([])

  const figures = (): RunFigures => ({ fuel, cpuMs: computed, calls, memoryBytes: guest.memoryBytes })
  const finish = (message: FromWorker) => {
    if (over) return
    over = true
    mail.send(typeof message === 'object' && 'end' in message ? { ...message, end: own(message.end) } : message)
  }
  const stop = (): boolean => {
    fuel++
    if (limit) return true
    if (Atomics.load(cells, flag.order) === order.stop) limit = 'stopped'
    else if (fuel > limits.fuel) limit = 'fuel-limit'
    else if (computed + performance.now() - startedAt > limits.cpuMs) limit = 'cpu-limit'
    return limit !== undefined
  }
  /** Runs the guest under the host's supervision. */
  const compute = (piece: () => void): unknown => {
    startedAt = performance.now()
    Atomics.store(cells, flag.waitingSince, 0)
    Atomics.store(cells, flag.computingSince, tick(startedAt))
    try {
      piece()
      return undefined
    } catch (error) {
      return error
    } finally {
      Atomics.store(cells, flag.computingSince, 0)
      computed += performance.now() - startedAt
      Atomics.store(cells, flag.computed, Math.round(computed))
    }
  }
  /** The last frame of a stopped script; empty when the script is too broken to produce one. */
  const lastFrame = (): string => {
    limit = undefined
    let frame = ''
    compute(() => (frame = guest.take()))
    return frame
  }
  /** Without memory left, the guest can neither create an error nor settle a promise. */
  const isFull = () => guest.memoryBytes >= limits.memoryBytes
  /** The code of the error that stopped a script during execution. */
  const codeOf = (error: unknown): string => {
    if (limit) return limit
    const text = error instanceof Error ? error.message : String(error)
    if (isFull() || /out of memory|malloc|memory access/i.test(text)) return 'memory-limit'
    if (/call stack|stack overflow/i.test(text)) return 'stack-limit'
    // Before the script begins, only code outside its function can throw.
    return !begun && error instanceof GuestStopped ? 'syntax-error' : 'engine-failed'
  }
  const stopped = (error: unknown) => {
    if (limit === undefined && guest.wasInterrupted) return finish({ end: lastFrame(), figures: figures() })
    const cause = codeOf(error)
    const message = error instanceof Error ? error.message : ''
    finish({ end: lastFrame(), code: cause, message, figures: figures() })
  }
  /** Runs a part of the script and sends its requests. */
  const step = (piece: () => void) => {
    let frame = ''
    const error = compute(() => {
      piece()
      if (limit === undefined) frame = guest.take()
    })
    if (over) return
    if (error instanceof GuestSyntaxError) {
      const { message, line, column } = error
      return finish({ syntax: message, line, column, worn: error instanceof ParserBroken, figures: figures() })
    }
    if (error !== undefined || limit !== undefined) return stopped(error)
    if (frame !== '') {
      const glance = glanceAtFrame(frame)
      calls = glance.calls
      if (glance.ended) return finish({ end: frame, figures: figures() })
    }
    // An empty frame is sent too: it tells the host that the script waits.
    awaited = mail.send(frame)
    if (calls <= delivered) return finish({ end: '', code: isFull() ? 'memory-limit' : 'deadlock', figures: figures() })
    Atomics.store(cells, flag.waitingSince, tick())
  }
  const deliver = (delivery: Delivery) => {
    now = delivery.at
    if (!guest.deliver(delivery)) {
      return finish({ end: '', code: 'replay-diverged', message: `call ${delivery.id}`, figures: figures() })
    }
    delivered++
  }

  const obey = () => {
    const received = Atomics.load(cells, flag.order)
    if (received === order.park) finish({ parked: true, delivered, figures: figures() })
    if (received === order.stop) finish({ end: lastFrame(), code: 'stopped', figures: figures() })
  }
  step(() => {
    guest.watch({ stop, now: () => now })
    const start = (js: string) => guest.start(js, task.seed)
    if (followsValues) own = startFollowed(task.source, task.acting ?? task.tools, start)
    else startScript(task.source, start)
    begun = true
    for (const delivery of task.delivered) if (!over && limit === undefined) deliver(delivery)
  })
  const ended = () => over
  let letters = 0
  while (!ended()) {
    const sent = Atomics.load(cells, flag.letters)
    const letter = sent === letters ? undefined : mail.next()
    if (typeof letter === 'string') {
      step(() => {
        for (const delivery of readDeliveries(letter)) if (!over && limit === undefined) deliver(delivery)
      })
    } else {
      letters = sent
      obey()
      if (!ended()) wait(cells, sent, awaited)
    }
  }
}

warmTypeScript()

function perform(task: Task, mail: WorkerMessages): void {
  const guest = guestFor(task.tools)
  try {
    stretch(guest, task, mail)
  } finally {
    guest.dispose()
  }
  prepareSpare(task.tools)
}

/** How long an announced task is awaited in a spin-wait, in ms. */
const expectedMs = 0.1

/**
 * Warms up for an announced task. After a sleep the needed memory is out of cache, which costs half the time of a short
 * script.
 */
function expectTask(cells: Int32Array, letters: number): void {
  spare?.guest.warm()
  const until = performance.now() + expectedMs
  while (Atomics.load(cells, flag.letters) === letters && performance.now() < until);
}

/** Runs tasks one after the other. The thread sleeps between them. */
function serve(serving: Serving): void {
  const cells = new Int32Array(serving.cells)
  const mail = workerMessages(serving)
  let letters = 0
  for (;;) {
    const sent = Atomics.load(cells, flag.letters)
    const letter = sent === letters ? undefined : mail.next()
    if (letter === undefined) {
      letters = sent
      if (Atomics.exchange(cells, flag.expected, 0) === 1) expectTask(cells, sent)
      if (Atomics.wait(cells, flag.letters, sent, idleMs) === 'timed-out') return
    } else if (typeof letter !== 'string') {
      // The text arrived after the end of its script.
      Atomics.add(cells, flag.taken, 1)
      Atomics.store(cells, flag.expected, 0)
      perform(letter, mail)
    }
  }
}

/** The entry point that the pool calls. */
export default async function work(job: Serving | 'prepare'): Promise<void> {
  if (job === 'prepare') return prepareSpare([])
  // A port closes only after a turn of the event loop, which the pool would not run.
  const closed = once(job.port, 'close')
  serve(job)
  job.port.close()
  await closed
}
