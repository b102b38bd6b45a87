import { ProvostError } from '@provost/core'

/** After `close()`. */
export function sessionClosed(id: string): ProvostError {
  return new ProvostError('session-closed', `Session ${id} was closed.`, {
    hint: 'Open it again with agent.resumeSession(id).',
  })
}

/** For what has to wait until no run is open. */
export function sessionOpen(id: string, what: 'goes on' | 'waits'): ProvostError {
  return new ProvostError('session-open', `Session ${id} has a run that ${what}.`, {
    hint: 'Its messages can be edited when it has ended: wait for it, resume it, or abort it.',
  })
}

/** For a session without a run, or whose last run is complete. */
export function nothingToResume(id: string): ProvostError {
  return new ProvostError('nothing-to-resume', `Session ${id} has no run that could go on.`, {
    hint: 'Say something to it with send or stream.',
  })
}

/** For those whom no compiler told. */
export function unknownMode(mode: unknown): ProvostError {
  return new ProvostError('invalid-option', `There is no mode ${JSON.stringify(mode)} to send in.`, {
    hint: "Send in the mode 'steer' or 'queue'.",
  })
}

/** For `to`. */
export function unknownRun(sessionId: string, to: string): ProvostError {
  return new ProvostError('unknown-run', `Session ${sessionId} has no run ${to.slice(0, 300)} that goes on.`, {
    hint: 'It has ended, or has never been. Take its id from an event of it, or leave out `to` to reach the outermost run.',
  })
}

/** Somebody was faster. */
export function alreadyDecided(count: number): ProvostError {
  return new ProvostError(
    'already-decided',
    `Of these decisions, ${count} had been made before; the first ones hold.`,
    {
      hint: 'Look at session.pending for what is still open.',
    },
  )
}

/** The clock was faster. */
export function waitExpired(tokens: readonly string[]): ProvostError {
  return new ProvostError('wait-expired', `Too late: nobody waits any more for an answer to ${tokens.join(', ')}.`, {
    hint: 'The run goes on without it. What was done meanwhile has to be told to it in words.',
  })
}

/** Nobody is there to shorten the view. */
export function nothingCompacts(sessionId: string, agent: string): ProvostError {
  return new ProvostError(
    'no-compactor',
    `Session ${sessionId} cannot be compacted: agent ${agent} has nothing for it.`,
    {
      hint: 'Give the agent compaction() of @provost/memory, or an extension of your own with a context hook.',
    },
  )
}
