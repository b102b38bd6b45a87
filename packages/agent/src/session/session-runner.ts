import type { Extension, Input } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunHandle } from '../types/run-context.ts'
import type { Given } from '../types/session.ts'

/** Starts runs in a session. */
export interface SessionRunner {
  /** Of the agent that the session belongs to. */
  readonly plan: ResolvedAgent
  /** By which its listeners judge calls. */
  readonly judge: Extension
  /** What it has beside those of the agent. */
  readonly extensions: readonly Extension[]
  start(input: Input, given: Given, watched: boolean): RunHandle<unknown>
}
const runners = new WeakMap<object, SessionRunner>()

/**
 * Starts a run of an agent in a session of its own.
 *
 * @throws SessionBusyError; ProvostError `wrong-agent`, `session-closed`
 */
export function startIn<Output>(
  session: object,
  plan: ResolvedAgent,
  input: Input,
  given: Given,
  watched: boolean,
): RunHandle<Output> {
  const runner = runners.get(session)
  if (runner?.plan !== plan) {
    throw new ProvostError('wrong-agent', `The session given to agent ${plan.name} is not one of its own.`, {
      hint: 'Pass what createSession or resumeSession of this agent gave.',
    })
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a session of this very agent has its output
  return runner.start(input, given, watched) as RunHandle<Output>
}

/**
 * What governs work that is done for a session, beside what governs the work.
 *
 * @throws ProvostError `invalid-option`: nobody may escape it with an object that only looks like the session.
 */
export function governingOf(session: object): Pick<SessionRunner, 'judge' | 'extensions'> {
  const runner = runners.get(session)
  if (runner) return runner
  throw new ProvostError('invalid-option', 'What was given as a session is none.', {
    hint: 'Pass what createSession or resumeSession of an agent gave, not a copy.',
  })
}

/** Lets runs be started in a session by its agent. */
export function keepRunner(session: object, runner: SessionRunner): void {
  runners.set(session, runner)
}
