import type { AgentStream, Orchestrator } from '@provost/agent'
import { RunState } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import * as fc from 'fast-check'
import { expect } from 'vitest'

import { collect, expectLogged, expectSound, expectTaken } from './run-check.ts'
import type { Seen } from './run-check.ts'
import { actorOf, answersTo, script } from './run-script.ts'

/** Who leads a run, what its model says before the random rest, and in how many runs. */
export interface Way {
  readonly orchestrator?: Orchestrator
  readonly first?: ScriptedStep
  readonly numRuns: number
}

/** Expects that runs end, histories are well formed and events are whole, whatever model, tools, hooks and callers do. */
export async function expectSoundRuns({ orchestrator, first, numRuns }: Way): Promise<void> {
  await fc.assert(
    fc.asyncProperty(script, fc.scheduler(), fc.nat(8), async (random, scheduler, choice) => {
      const play = first ? { ...random, steps: [first, ...random.steps] } : random
      const store = memoryStore()
      const later = <T>(value: T, label: string): Promise<T> => scheduler.schedule(Promise.resolve(value), label)
      const actor = actorOf(play, store, later, orchestrator)

      const watch = async (stream: AgentStream): Promise<Seen> => {
        actor.watch(stream)
        const seen = await scheduler.waitFor(collect(stream))
        expectSound(seen)
        await expectLogged(store, seen.result)
        return seen
      }

      let { result } = await watch(actor.agent.stream('Go.', { onApproval: actor.onApproval }))
      for (let round = 0; result.status === 'suspended' && round < 20; round++) {
        const state = RunState.fromJSON(JSON.stringify(result.state), actor.agent)
        const answers = answersTo(result.pending, choice + round)
        ;({ result } = await watch(actor.agent.stream(state, answers)))
      }
      expect(result.status).not.toBe('suspended')
      // The orchestrator always received what the log holds.
      expect(result.error).not.toMatchObject({ code: 'orchestrator-diverged' })
      await expectTaken(store, result.sessionId)
    }),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 4 * numRuns : Math.ceil(numRuns / 8), timeout: 60_000 },
  )
}
