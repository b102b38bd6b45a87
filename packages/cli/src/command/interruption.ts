import process from 'node:process'

/** What stops a command from outside. SIGPIPE: the reader of stdout has gone. */
const signals = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 } as const

type Interruption = keyof typeof signals

const names = ['SIGHUP', 'SIGINT', 'SIGPIPE', 'SIGTERM'] as const satisfies readonly Interruption[]

/** Calls a function once when the process is asked to stop; a second request ends the process. */
export interface InterruptionWatch {
  /** The exit code of a process that a signal ended: 128 and its number. Undefined if none came. */
  readonly exitCode: number | undefined
  end(): void
}

/** Watches for interruptions until `end`. */
export function watchInterruption(stop: () => void): InterruptionWatch {
  let seen: Interruption | undefined
  const take = (signal: Interruption): void => {
    // Every further write to a closed pipe reports it again.
    if (seen !== undefined && signal === 'SIGPIPE') return
    if (seen !== undefined) process.exit(128 + signals[signal])
    seen = signal
    stop()
  }
  for (const name of names) process.on(name, take)
  return {
    get exitCode() {
      return seen === undefined ? undefined : 128 + signals[seen]
    },
    end: () => {
      for (const name of names) process.off(name, take)
    },
  }
}

/** Ends the process with the signal that stopped its command, so that a loop of a shell stops too. */
export function endBySignal(exitCode: number): void {
  const name = names.find((one) => 128 + signals[one] === exitCode)
  if (name !== undefined && name !== 'SIGPIPE' && process.platform !== 'win32') process.kill(process.pid, name)
}

/** The reader of stdout has gone, as with `provost show ID | head`. @returns whether a command handles it. */
export function readerGone(): boolean {
  return process.emit('SIGPIPE', 'SIGPIPE')
}
