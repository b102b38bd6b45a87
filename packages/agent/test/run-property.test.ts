import type { AgentStream } from '@provost/agent'
import { createAgent, foldLog, RunState } from '@provost/agent'
import type { PendingWork, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { collect, expectLogged, expectPaired, expectSound, readLog } from './run-check.ts'
import type { Seen } from './run-check.ts'
import { actorOf, script } from './run-script.ts'

/** Answers for everything that a run waits for; the scheduler's choice is not needed, the order is as asked. */
function answersTo(pending: PendingWork, choice: number): Parameters<AgentStream['resolve']>[0] {
  return {
    approvals: pending.approvals.map(({ id }, index) =>
      (choice + index) % 3 === 0
        ? { id, decision: 'deny' }
        : { id, decision: 'approve', ...((choice + index) % 3 === 1 && { args: { n: 5 } }) },
    ),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: choice })).toReversed(),
    uncertain: pending.uncertain.map(({ callId }) => ({ callId, decision: 'fail' })),
  }
}

/** Expects that the next turn of a session is one that any provider takes. */
async function expectTaken(store: SessionStore, sessionId: string): Promise<void> {
  const model = scriptedModel([
    ({ messages }) => {
      expectPaired(messages)
      return { text: 'Yes.' }
    },
  ])
  const next = await createAgent({ name: 'actor', model, store }).run('Go on?', { sessionId })
  expect(next).toMatchObject({ status: 'completed', text: 'Yes.' })
  const entries = await readLog(store, sessionId)
  assertWellFormed(foldLog(entries).messages)
}

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
