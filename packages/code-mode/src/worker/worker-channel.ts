import { MessageChannel, type MessagePort } from 'node:worker_threads'

import { mailboxMemory, receiver, sender } from './shared-mailbox.ts'
import { hostSpinWait } from './spin-wait.ts'
import { flag, flagCount, type FromWorker, ring, type Task } from './task.ts'

/** What a worker is to do: take tasks from a port, until none has come for a while. */
export interface Serving {
  readonly port: MessagePort
  /** See {@link flag}, of which it has `letters`, `taken` and `expected`. */
  readonly cells: SharedArrayBuffer
  /** Mailboxes: what comes to the worker, and what it says. */
  readonly inbox: SharedArrayBuffer
  readonly outbox: SharedArrayBuffer
}

/** A worker that waits for tasks: to give it one costs a fraction of what it costs to go through the pool. */
export interface WorkerChannel {
  /** It takes nothing any more. */
  readonly over: boolean
  /** Wakes the worker for a task that is on its way. */
  wake(): void
  /** Resolves when the task is over, with false where the worker went away before it took it; `hear` is told what it says. */
  run(task: Task, hear: (message: FromWorker) => void): Promise<boolean>
  /** Sends something to the script that is being run. */
  post(text: string): void
  /** Ends the worker's thread, whatever it does. */
  kill(): void
}

interface Running {
  hear(message: FromWorker): void
  resolve(taken: boolean): void
  reject(error: unknown): void
}

/** Has a worker serve; `serve` resolves when it no longer does. */
export function openWorkerChannel(serve: (serving: Serving, signal: AbortSignal) => Promise<void>): WorkerChannel {
  const { port1: port, port2 } = new MessageChannel()
  const cells = new Int32Array(new SharedArrayBuffer(flagCount * 4))
  const [inbox, outbox] = [mailboxMemory(), mailboxMemory()]
  const send: (message: Task | string) => void = sender(port, inbox)
  const { look, take, came } = receiver(outbox)
  const ending = new AbortController()
  let given = 0
  let over = false
  let running: Running | undefined

  const listen = (message: FromWorker) => {
    vigil.came()
    running?.hear(message)
    if (typeof message === 'string') return
    running?.resolve(true)
    running = undefined
    if ('worn' in message && message.worn) kill()
    if (over) port.close()
  }
  const kill = () => {
    over = true
    ending.abort()
  }
  const vigil = hostSpinWait(() => {
    const text = take()
    if (text !== undefined) listen(text)
    return text !== undefined
  }, look)
  port.on('message', (message: FromWorker) => {
    const earlier = came()
    if (earlier !== undefined) listen(earlier)
    listen(message)
  })
  serve({ port: port2, cells: cells.buffer, inbox, outbox }, ending.signal).then(
    () => {
      over = true
      // What it took it has ended: then that it did is still on its way.
      if (Atomics.load(cells, flag.taken) === given && running) return
      running?.resolve(false)
      port.close()
    },
    (error: unknown) => {
      over = true
      running?.reject(error)
      port.close()
    },
  )
  return {
    get over() {
      return over
    },
    wake() {
      Atomics.store(cells, flag.expected, 1)
      ring(cells)
    },
    run(task, hear) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      running = { hear, resolve, reject }
      given++
      send(task)
      ring(cells)
      return promise
    },
    post(text) {
      send(text)
      vigil.sent()
    },
    kill,
  }
}
