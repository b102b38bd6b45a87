import type { RunStatus } from '@provost/core'

import { activeAgent } from '../handoff/active-agent.ts'
import { advance } from '../loop/advance.ts'
import type { Loop } from '../loop/driver.ts'
import { orchestrate } from './orchestrate.ts'

/**
 * Advances a run until it ends or is suspended. The orchestrator of the active agent decides on the steps; without one,
 * the log does.
 *
 * @returns the status of the run.
 * @throws errors of the driver and of the orchestrator.
 */
export async function runLoop(loop: Loop): Promise<RunStatus> {
  for (;;) {
    const { orchestrator } = activeAgent(loop.entryAgent, loop.state)
    const status = await (orchestrator ? orchestrate(loop, orchestrator) : advance(loop))
    if (status) return status
  }
}
