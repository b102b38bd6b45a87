import type { AgentEvent } from '@provost/core'

import type { Expectations } from './expectations.ts'
import { differencesOf } from './expectations.ts'
import type { Trajectory } from './trajectory.ts'
import { trajectoryOf } from './trajectory.ts'

/** What `toFollow` accepts: a trajectory, a stream, or its events. */
type Followed = Trajectory | Iterable<AgentEvent> | AsyncIterable<AgentEvent>

/**
 * Matchers for `expect.extend` of vitest or Jest. `toFollow(expectations)` passes if a run differs in nothing.
 *
 * @example
 * expect.extend(evaluationMatchers)
 * await expect(desk.stream('Refund order 17.')).toFollow({ calls: ['refund'], never: ['send_email'] })
 */
export const evaluationMatchers = {
  async toFollow(
    received: Followed,
    expected: Expectations,
  ): Promise<{ readonly pass: boolean; readonly message: () => string }> {
    const trajectory = 'calls' in received ? received : await trajectoryOf(received)
    const differences = await differencesOf(trajectory, expected)
    return {
      pass: differences.length === 0,
      message: () => (differences.length === 0 ? 'The run differs in nothing.' : differences.join('\n')),
    }
  },
}
