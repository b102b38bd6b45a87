import type { Extension, Input } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunHandle } from '../types/run-context.ts'
import type { UntypedRunOptions } from '../types/session.ts'

/** Starts runs in a session. */
export interface SessionRunner {
  /** The plan of the session's agent. */
  readonly agent: ResolvedAgent
  /** The extension with which its listeners decide on calls. */
  readonly judge: Extension
  /** The session's extensions, in addition to the agent's. */
  readonly extensions: readonly Extension[]
  start(input: Input, options: UntypedRunOptions, watched: boolean): RunHandle<unknown>
  /** Stops the timer that resumes a run when its wait expires. */
  stopWaking(): void
}
const runners = new WeakMap<object, SessionRunner>()

/**
 * Starts a run of an agent in one of its sessions.
 *
 * @throws SessionBusyError; ProvostError `wrong-agent`, `session-closed`
 */
export function startIn<Output>(
  session: object,
  agent: ResolvedAgent,
  input: Input,
  options: UntypedRunOptions,
  watched: boolean,
): RunHandle<Output> {
  const runner = runners.get(session)
  if (runner?.agent !== agent) {
    throw new ProvostError('wrong-agent', `The session passed to agent ${agent.name} belongs to another agent.`, {
      hint: 'Pass the session that createSession or resumeSession of this agent returned.',
    })
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a session of this agent has its output type
  return runner.start(input, options, watched) as RunHandle<Output>
}

/**
 * Returns the session's extensions, which also govern work done for the session.
 *
 * @throws ProvostError `invalid-option` for an object that only resembles a session, which would escape governance.
 */
export function governingOf(session: object): Pick<SessionRunner, 'judge' | 'extensions'> {
  const runner = runners.get(session)
  if (runner) return runner
  throw new ProvostError('invalid-option', 'The value of "session" is not a session.', {
    hint: 'Pass the session that createSession or resumeSession returned, not a copy.',
  })
}

/**
 * Stops the timer of a session that its process drops, which would keep it in memory until its deadline. The store has the
 * deadline, too.
 */
export function stopWaking(session: object): void {
  runners.get(session)?.stopWaking()
}

/** Registers the runner of a session, so that its agent can start runs in it. */
export function keepRunner(session: object, runner: SessionRunner): void {
  runners.set(session, runner)
}
