import type { MessagePort } from 'node:worker_threads'

/** Longer texts are sent as messages. */
const longest = 4096

/** The numbers in front of the text. */
const cell = {
  /** Whether the receiver polls. */
  looks: 0,
  /** The length of the text plus 1; 0 when the mailbox is empty. */
  filled: 1,
  /** Number of messages received through the port. */
  received: 2,
} as const
const cellCount = 3

/** A character that takes more than one byte. */
const wide = /[^\0-\xff]/

/** Memory for one text that two threads share, beside a port. */
export function mailboxMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(cellCount * 4 + longest)
}

function parts(memory: SharedArrayBuffer): { cells: Int32Array; bytes: Buffer } {
  return { cells: new Int32Array(memory, 0, cellCount), bytes: Buffer.from(memory, cellCount * 4) }
}

/**
 * Returns a function that sends through the mailbox while the receiver polls, and returns true then; otherwise it sends
 * through the port. The mailbox costs the receiver a fraction of a message. A text in the mailbox is older than any
 * message on its way, so that order is preserved.
 */
export function sender(port: MessagePort, memory: SharedArrayBuffer): (message: unknown) => boolean {
  const { cells, bytes } = parts(memory)
  let posted = 0
  const put = (text: string): boolean => {
    if (Atomics.load(cells, cell.looks) === 0 || Atomics.load(cells, cell.filled) !== 0) return false
    if (Atomics.load(cells, cell.received) !== posted || text.length > longest || wide.test(text)) return false
    bytes.write(text, 'latin1')
    const filled = text.length + 1
    Atomics.store(cells, cell.filled, filled)
    // After polling has stopped, the text has either been taken, or is withdrawn here and sent through the port.
    return Atomics.load(cells, cell.looks) === 1 || Atomics.compareExchange(cells, cell.filled, filled, 0) !== filled
  }
  return (message) => {
    if (typeof message === 'string' && put(message)) return true
    posted++
    port.postMessage(message)
    return false
  }
}

export interface Receiver {
  /** Declares whether `take` is polled. The receiver calls `take` once more after it stops polling. */
  setPolling(on: boolean): void
  /** The text in the mailbox. */
  take(): string | undefined
  /** Handles a message from the port: returns the text that was sent before it, if the mailbox holds it. */
  takeEarlier(): string | undefined
}

export function receiver(memory: SharedArrayBuffer): Receiver {
  const { cells, bytes } = parts(memory)
  const take = () => {
    const filled = Atomics.load(cells, cell.filled)
    if (filled === 0) return undefined
    const text = bytes.toString('latin1', 0, filled - 1)
    return Atomics.compareExchange(cells, cell.filled, filled, 0) === filled ? text : undefined
  }
  return {
    setPolling(on) {
      Atomics.store(cells, cell.looks, on ? 1 : 0)
    },
    take,
    takeEarlier() {
      const earlier = take()
      Atomics.add(cells, cell.received, 1)
      return earlier
    },
  }
}
