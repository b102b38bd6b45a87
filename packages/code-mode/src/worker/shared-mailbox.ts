import type { MessagePort } from 'node:worker_threads'

/** Longer texts go as messages. */
const longest = 4096

/** The numbers that stand before the text. */
const cell = {
  /** Whether the receiver looks. */
  looks: 0,
  /** The length of the text and 1 more, 0 where there is none. */
  filled: 1,
  /** How many messages have come by the port. */
  received: 2,
} as const
const cellCount = 3

/** A character that takes more than a byte. */
const wide = /[^\0-\xff]/

/** A place for one text that two threads share, beside a port. */
export function mailboxMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(cellCount * 4 + longest)
}

function parts(memory: SharedArrayBuffer): { cells: Int32Array; bytes: Buffer } {
  return { cells: new Int32Array(memory, 0, cellCount), bytes: Buffer.from(memory, cellCount * 4) }
}

/**
 * Sends: by the box where the receiver looks, which costs it a fraction of what a message does, and says so; else by the port.
 * What is in the box is older than any message on its way, so that all comes in the order it was sent.
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
    // Where nobody looks any more, it has been taken all the same, or nobody will.
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
  /** Says whether `take` is called again and again. Who stops calls it once more. */
  look(on: boolean): void
  /** The text in the box. */
  take(): string | undefined
  /** A message came by the port: what was sent before it, if that is in the box. */
  came(): string | undefined
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
    look(on) {
      Atomics.store(cells, cell.looks, on ? 1 : 0)
    },
    take,
    came() {
      const earlier = take()
      Atomics.add(cells, cell.received, 1)
      return earlier
    },
  }
}
