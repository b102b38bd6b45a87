import type { AgentEvent, Input, RunResult } from '@provost/core'
import { ProvostError, liveFields } from '@provost/core'

import { checkAbortOptions, checkDecisions } from '../definition/known-options.ts'
import { notify } from '../inbox/pending-inputs.ts'
import type { PendingInputs } from '../types/inputs.ts'
import type { EventBus, EventQueue } from '../types/log.ts'
import type { AbortControl, RunHandle } from '../types/run-context.ts'
import type { SendMode } from '../types/stream.ts'

/** What a run handle needs from its run. */
export interface RunHandleHost {
  readonly pendingInputs: PendingInputs
  /** Sends input to the run's inbox. */
  send(input: Input, mode: SendMode): void
  readonly control: AbortControl
  readonly eventBus: EventBus
  /** Its events from the start, if an iterator reads them. */
  readonly events: EventQueue | undefined
}

/** Creates the handle of a run. */
export function runHandle<Output>(
  runId: string,
  result: Promise<RunResult<Output>>,
  { pendingInputs, send, control, eventBus, events }: RunHandleHost,
): RunHandle<Output> {
  const ended = result.then(() => {})
  let fromStart = events
  const handle: Omit<RunHandle<Output>, 'output'> = {
    runId,
    result,
    ended,
    steer: (input) => send(input, 'steer'),
    followUp: (input) => send(input, 'queue'),
    async resolve(decisions) {
      checkDecisions(decisions, 'stream.resolve')
      pendingInputs.decisions.push(decisions)
      notify(pendingInputs)
    },
    async abort(options) {
      checkAbortOptions(options, 'stream.abort')
      control.abort(options)
      await ended
    },
    fail(error) {
      control.failure ??= error
      control.abort()
    },
    [Symbol.asyncIterator](): AsyncIterator<AgentEvent> {
      // The first reader gets all events from the start. Each further reader subscribes from now.
      if (!fromStart && eventBus.isOver()) return alreadyRead(runId)
      const queue = fromStart ?? eventBus.subscribe()
      fromStart = undefined
      return queue[Symbol.asyncIterator]()
    },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shared fields do not know the output type of this handle
  return withOutput(handle, () => result.then(outputOf)) as RunHandle<Output>
}

/** Returns the iterator of a late reader: an empty one would look like a run without events. */
function alreadyRead(runId: string): AsyncIterator<AgentEvent> {
  return {
    next: () =>
      Promise.reject(
        new ProvostError('stream-consumed', `The events of run ${runId} were already read, and the run is over.`, {
          hint: 'Read the stream once and keep the events, or start the second iterator while the run is active.',
        }),
      ),
    return: () => Promise.resolve({ value: undefined, done: true }),
  }
}

// Created on access, because it rejects if the run did not complete.
const withOutput = liveFields<() => Promise<unknown>, { readonly output: Promise<unknown> }>({
  output: (made) => made(),
})

function outputOf<Output>(result: RunResult<Output>): Output {
  if (result.status === 'completed') return result.output
  throw result.status === 'failed'
    ? result.error
    : new ProvostError(`run-${result.status}`, `The run has no output. Its status is ${result.status}.`, {
        hint: result.status === 'suspended' ? 'Resume result.state with decisions on result.pending.' : 'Run it again.',
      })
}
