import { ProvostError } from '@provost/core'

/** The error for an operation after `close()`. */
export function sessionClosed(id: string): ProvostError {
  return new ProvostError('session-closed', `Session ${id} was closed.`, {
    hint: 'Open it again with agent.resumeSession(id).',
  })
}

/** The error for an operation that needs a session without an open run. */
export function sessionOpen(id: string, what: 'goes on' | 'waits'): ProvostError {
  const run = what === 'waits' ? 'a suspended run' : 'a run in progress'
  return new ProvostError('session-open', `Session ${id} has ${run}.`, {
    hint: 'Do it after the run has ended: wait for the run, resume it, or abort it.',
  })
}

/** The error for an id that the store does not have. */
export function unknownSession(id: string): ProvostError {
  return new ProvostError('unknown-session', `Session ${id} does not exist.`, {
    hint: 'Create the session, or use the store that contains it.',
  })
}

/** The error for a session without a run, or with a completed one. */
export function nothingToResume(id: string): ProvostError {
  return new ProvostError('nothing-to-resume', `Session ${id} has no run to resume.`, {
    hint: 'Start a run with session.send or session.stream.',
  })
}

/** The error for a mode that untyped code gave. */
export function unknownMode(mode: unknown): ProvostError {
  return new ProvostError('invalid-option', `Unknown mode ${JSON.stringify(mode)} in session.send.`, {
    hint: "Give 'steer' or 'queue'.",
  })
}

/** The error for data with a message to a child run. */
export function dataBelow(to: string): ProvostError {
  return new ProvostError('invalid-option', `session.deliver has "data" with "to" ${to.slice(0, 300)}, a child run.`, {
    hint: 'Leave "to" or "data" out: only the session\'s own log records data.',
  })
}

/** The error for a `to` that names no running run. */
export function unknownRun(sessionId: string, to: string): ProvostError {
  return new ProvostError('unknown-run', `Session ${sessionId} has no run ${to.slice(0, 300)} in progress.`, {
    hint: 'The run has ended or never existed. Take its id from one of its events, or leave out `to` to reach the root run.',
  })
}

/** The error for decisions that were already made elsewhere. */
export function alreadyDecided(count: number): ProvostError {
  return new ProvostError(
    'already-decided',
    `${count} of these decisions had already been made; the earlier ones apply.`,
    {
      hint: 'See session.pending for the open ones.',
    },
  )
}

/** The error for answers that arrived after the deadline. */
export function waitExpired(tokens: readonly string[]): ProvostError {
  return new ProvostError('wait-expired', `Too late: the wait for ${tokens.join(', ')} has expired.`, {
    hint: 'The run continues without the answer. Send a message to tell it what has happened meanwhile.',
  })
}

/** The error for a manual compaction without a compactor. */
export function nothingCompacts(sessionId: string, agent: string): ProvostError {
  return new ProvostError(
    'no-compactor',
    `Session ${sessionId} cannot be compacted: agent ${agent} has no compactor.`,
    {
      hint: 'Add compaction() of @provost/memory, or an extension with a context hook, to "extensions".',
    },
  )
}

/** The error for input to the session of a child: only the run that spawned the child gives it input. */
export function runElsewhere(id: string): ProvostError {
  return new ProvostError('child-session', `Session ${id} is that of a child, which has one run.`, {
    hint: 'Send input to the session that spawned it.',
  })
}
