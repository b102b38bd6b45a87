import { receiveMessageOnPort } from 'node:worker_threads'

import { receiver, sender } from './shared-mailbox.ts'
import type { FromWorker, Task } from './task.ts'
import type { Serving } from './worker-channel.ts'

/** The worker's end of a channel. */
export interface WorkerMessages {
  /** Sends a message. Returns whether the host is awake and receives it at once. */
  send(message: FromWorker): boolean
  /** Returns the next message: a task or a text for the script. */
  next(): Task | string | undefined
}

export function workerMessages({ port, inbox, outbox }: Serving): WorkerMessages {
  const { setPolling, take, takeEarlier } = receiver(inbox)
  /** A message that must be returned after an earlier text. */
  let later: Task | string | undefined
  // Polls at each message, and another signal announces messages.
  setPolling(true)
  return {
    send: sender(port, outbox),
    next() {
      const first = later ?? take()
      later = undefined
      if (first !== undefined) return first
      const received: { message: Task | string } | undefined = receiveMessageOnPort(port)
      if (!received) return undefined
      const earlier = takeEarlier()
      if (earlier === undefined) return received.message
      later = received.message
      return earlier
    },
  }
}
