import type { Json, PendingInput, ToolQuestion } from '@provost/core'
import { ProvostError, isPromise, toJson } from '@provost/core'

import { report } from '../control/report.ts'
import { checkQuestion } from '../definition/known-child-options.ts'
import { answerWaits } from '../entries/decision-entries.ts'
import { inputWait, resolvedEntry } from '../entries/wait-entries.ts'
import { clock } from '../reducers/wait-reducer.ts'
import { pendingOn } from '../state/next-action.ts'
import { timerMs } from '../state/wait-deadlines.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** How long a question of a running tool stays open. */
export interface ElicitationWindow {
  /** Milliseconds. */
  readonly withinMs: number
  /** Aborted when the call has ended. */
  readonly signal: AbortSignal
}

/** Whether a question of this run can be answered: by `onInput`, the inbox, or a listener. */
export function canBeAsked({ options, inbox, observed }: RunContext): boolean {
  return options.onInput !== undefined || inbox.isShared || observed
}

/**
 * Returns the answer to a question of a running tool. The question goes to `onInput`, to listeners of the stream and the
 * session, and to the session's inbox. The first answer counts. The question is recorded as a wait and ends with the call.
 *
 * @throws ProvostError `input-expired` after the deadline; the reason of the signal after an abort.
 */
export async function ask(
  ctx: RunContext,
  call: CallState,
  question: ToolQuestion,
  at: ElicitationWindow,
): Promise<Json> {
  checkQuestion(question)
  const { logWriter, state, pendingInputs } = ctx
  const deadline = state.clock.now() + at.withinMs
  const wait = inputWait(state, call, question, `${call.starts}.${++ctx.questionCount}`, deadline)
  await logWriter.append([wait])
  const { id: token } = wait
  const stored = state.waits.get(token)
  const answer = Promise.withResolvers<Answer>()
  const look = (): void => {
    const found = pendingAnswer(ctx, token)
    if (found) answer.resolve(found)
  }
  const timer = state.clock.timer(() => answer.resolve({ by: clock }), timerMs(state.clock, deadline))
  const end = (): void => answer.resolve({ by: 'abort' })
  pendingInputs.listeners.add(look)
  at.signal.addEventListener('abort', end, { once: true })
  if (at.signal.aborted) end()
  look()
  for (const pending of pendingOn(state, stored ? [stored] : []).inputs) askInProcess(ctx, pending, answer.resolve)
  try {
    const { value, by } = await answer.promise
    // After an abort the log may be sealed. The end of the run then closes the question.
    const written = logWriter.append([resolvedEntry(state, token, value ?? null, by)])
    if (by === 'abort') {
      written.catch(() => {})
      throw at.signal.reason
    }
    await written
    if (by === clock) throw expired(question)
    return value ?? null
  } finally {
    timer.cancel()
    pendingInputs.listeners.delete(look)
    at.signal.removeEventListener('abort', end)
  }
}

/** An answer and its source. */
export interface Answer {
  readonly value?: Json
  readonly by: string
}

/** Calls `onInput`, if the caller gave one. */
export function askInProcess(ctx: RunContext, pending: PendingInput, found: (answer: Answer) => void): void {
  const failed = (thrown: unknown): void => report(ctx, thrown, { kind: 'listener', name: 'onInput' })
  const take = (value: unknown): void => {
    // `undefined` leaves the question to other channels.
    if (value !== undefined) found({ value: toJson(value), by: 'onInput' })
  }
  try {
    const said = ctx.options.onInput?.(pending)
    if (isPromise(said)) said.then(take).then(undefined, failed)
    else take(said)
  } catch (thrown) {
    failed(thrown)
  }
}

/** Returns the pending answer to one question. It stays pending until the log has it. */
function pendingAnswer({ inbox, pendingInputs, state }: RunContext, token: string): Answer | undefined {
  answerWaits(state, pendingInputs.decisions, inbox.answers)
  const delivery = inbox.answers.get(token)
  return delivery && { value: delivery.value, by: delivery.by === clock ? 'inbox' : delivery.by }
}

function expired({ message }: ToolQuestion): ProvostError {
  return new ProvostError('input-expired', `The question timed out: ${message.slice(0, 500)}`, {
    hint: 'Continue without the answer, or ask the user in your own words.',
  })
}
