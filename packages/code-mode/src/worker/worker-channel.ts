import { MessageChannel, type MessagePort } from 'node:worker_threads'

import { mailboxMemory, receiver, sender } from './shared-mailbox.ts'
import { hostSpinWait } from './spin-wait.ts'
import { flag, flagCount, type FromWorker, ring, type Task } from './task.ts'

/** The job of a worker: take tasks from a port until none has arrived for a while. */
export interface Serving {
  readonly port: MessagePort
  /** See {@link flag}; uses `letters`, `taken` and `expected`. */
  readonly cells: SharedArrayBuffer
  /** Mailboxes to and from the worker. */
  readonly inbox: SharedArrayBuffer
  readonly outbox: SharedArrayBuffer
}

/** A worker that waits for tasks. Sending a task to it costs a fraction of a job of the pool. */
export interface WorkerChannel {
  /** True when the worker accepts no more tasks. */
  readonly over: boolean
  /** Wakes the worker for an upcoming task. */
  wake(): void
  /**
   * Resolves when the task is over, with false when the worker left before it took the task. `hear` receives its
   * messages.
   */
  run(task: Task, hear: (message: FromWorker) => void): Promise<boolean>
  /** Sends a text to the running script. */
  post(text: string): void
  /** Ends the worker's thread, whatever it does. */
  kill(): void
}

interface Running {
  receive(message: FromWorker): void
  resolve(taken: boolean): void
  reject(error: unknown): void
}

/** Starts serving on a worker. `serve` resolves when the worker stops. */
export function openWorkerChannel(serve: (serving: Serving, signal: AbortSignal) => Promise<void>): WorkerChannel {
  const { port1: port, port2 } = new MessageChannel()
  const cells = new Int32Array(new SharedArrayBuffer(flagCount * 4))
  const [inbox, outbox] = [mailboxMemory(), mailboxMemory()]
  const send: (message: Task | string) => void = sender(port, inbox)
  const { setPolling, take, takeEarlier } = receiver(outbox)
  const ending = new AbortController()
  let given = 0
  let over = false
  let running: Running | undefined

  const listen = (message: FromWorker) => {
    vigil.came()
    running?.receive(message)
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
  }, setPolling)
  port.on('message', (message: FromWorker) => {
    const earlier = takeEarlier()
    if (earlier !== undefined) listen(earlier)
    listen(message)
  })
  serve({ port: port2, cells: cells.buffer, inbox, outbox }, ending.signal).then(
    () => {
      over = true
      // The worker finishes each task it took: the message that reports it is still on its way.
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
    run(task, receive) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      running = { receive, resolve, reject }
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
