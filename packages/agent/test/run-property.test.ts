import type { AgentStream } from '@provost/agent'
import { RunState } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { collect, expectLogged, expectSound, expectTaken } from './run-check.ts'
import type { Seen } from './run-check.ts'
import { actorOf, answersTo, script } from './run-script.ts'

test('whatever model, tools, hooks and callers do: runs end, histories are well formed, events are whole', async () => {
  await fc.assert(
    fc.asyncProperty(script, fc.scheduler(), fc.nat(8), async (play, scheduler, choice) => {
      const store = memoryStore()
      const later = <T>(value: T, label: string): Promise<T> => scheduler.schedule(Promise.resolve(value), label)
      const actor = actorOf(play, store, later)

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
      await expectTaken(store, result.sessionId)
    }),
    { numRuns: 150, timeout: 10_000 },
  )
})
