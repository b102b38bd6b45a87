import { ProvostError } from '@provost/core'

import type { OrchestratorCommand } from '../types/orchestrator.ts'

/** A queue of commands from an orchestrator to the loop, first in, first out. */
export interface CommandQueue {
  add(command: OrchestratorCommand): void
  /** Resolves with the next command. */
  take(): Promise<OrchestratorCommand>
  /** Rejects all open commands and each later one, because the run has ended or is suspended. */
  close(): void
}

/** Creates an empty queue. */
export function createCommandQueue(): CommandQueue {
  const wishes: OrchestratorCommand[] = []
  /** Commands without an answer, whether queued or taken. */
  const open = new Set<OrchestratorCommand>()
  let taker: ((command: OrchestratorCommand) => void) | undefined
  let closed = false

  return {
    add(command) {
      if ('completion' in command) {
        // The orchestrator need not await the promise: a handler here prevents an unhandled rejection.
        command.completion.promise.then(
          () => open.delete(command),
          () => open.delete(command),
        )
        if (closed) return refuse(command)
        open.add(command)
      }
      if (closed) return
      if (taker) taker(command)
      else wishes.push(command)
      taker = undefined
    },
    async take() {
      return wishes.shift() ?? new Promise((resolve) => void (taker = resolve))
    },
    close() {
      closed = true
      for (const command of open) refuse(command)
    },
  }
}

function refuse(command: OrchestratorCommand): void {
  if (!('completion' in command)) return
  command.completion.reject(
    new ProvostError('run-over', 'The run has ended or is suspended, so it rejects the calls of its orchestrator.', {
      hint: 'Let this error propagate: the orchestrator is called again when the run is resumed.',
    }),
  )
}
