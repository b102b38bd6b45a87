import { AsyncResource } from 'node:async_hooks'

import type { RunStatus } from '@provost/core'
import { ProvostError } from '@provost/core'

/** How one call of an orchestrator ends: with the run, with a handoff (`moved`), or with an input to continue with (`again`). */
export type TurnEnd = { readonly status: RunStatus } | 'moved' | 'again'

/** The outcome of a command. `end` ends the call, with or without a value; `misuse` is an error of the orchestrator's own making. */
export type Outcome<T> =
  | { readonly value: T; readonly end?: TurnEnd }
  | { readonly end: TurnEnd }
  | { readonly misuse: ProvostError }

/** Runs the commands of one call of an orchestrator one after the other, until one of them ends the call. */
export interface Commands {
  /** Resolves with the value of a command. Rejects after a misuse, and with `run-over` once the call has ended. */
  run<T>(command: () => Promise<Outcome<T>>): Promise<T>
  /** How the call ends. Rejects with the error of a command, which ends the run. */
  readonly ended: Promise<TurnEnd>
}

/** Creates a chain without a command. Commands run in the async context of this call. */
export function createCommands(): Commands {
  const ended = Promise.withResolvers<TurnEnd>()
  const context = new AsyncResource('provost.orchestrator')
  let open = true
  let last: Promise<unknown> = Promise.resolve()

  async function perform<T>(command: () => Promise<Outcome<T>>): Promise<T> {
    if (!open) throw runOver()
    const outcome = await command().catch((thrown: unknown) => {
      open = false
      ended.reject(thrown)
      throw runOver()
    })
    if ('misuse' in outcome) throw outcome.misuse
    if (outcome.end) {
      open = false
      ended.resolve(outcome.end)
    }
    if ('value' in outcome) return outcome.value
    throw runOver()
  }

  return {
    run(command) {
      const done = context.runInAsyncScope(() => last.then(() => perform(command)))
      // The orchestrator need not await the promise.
      last = done.catch(() => {})
      return done
    },
    ended: ended.promise,
  }
}

function runOver(): ProvostError {
  return new ProvostError(
    'run-over',
    'The run has ended or is suspended, so it rejects the calls of its orchestrator.',
    {
      hint: 'Let this error propagate: the orchestrator is called again when the run is resumed.',
    },
  )
}
