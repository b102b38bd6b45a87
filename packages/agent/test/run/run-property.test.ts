import type { AgentStream, Orchestrator } from '@provost/agent'
import { agentic, planAndExecute, react, RunState } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { collect, expectLogged, expectSound, expectTaken } from './run-check.ts'
import type { Seen } from './run-check.ts'
import { actorOf, answersTo, script } from './run-script.ts'

/** Who leads a run, what its model says before the random rest, and in how many runs. */
interface Way {
  readonly orchestrator?: Orchestrator
  readonly first?: ScriptedStep
  readonly numRuns: number
}

const ways: Readonly<Record<string, Way>> = {
  'the loop alone': { numRuns: 75 },
  'agentic, called by another': { orchestrator: (run) => agentic()(run), numRuns: 25 },
  react: { orchestrator: react({ maxThoughtTokens: 3 }), numRuns: 25 },
  planAndExecute: {
    orchestrator: planAndExecute({ maxReplans: 1 }),
    first: { text: '{"steps": ["one", "two"]}' },
    numRuns: 25,
  },
  'one that drafts, asks outside and has it said again': {
    async orchestrator(run) {
      await agentic()(run)
      const note = await run.memo('note', async () => 'Shorter.')
      run.emit({ note })
      await run.model({ tail: [{ content: note }], tools: ['quick', 'risky'] })
      await run.execute({ only: run.calls.slice(0, 1).map(({ callId }) => callId) })
      await run.say('And again.')
      await agentic()(run)
    },
    numRuns: 25,
  },
  'one that forgets its calls, or throws': {
    async orchestrator(run) {
      const { content } = await run.model()
      if (content.length % 2 === 1) throw new Error('odd')
    },
    numRuns: 15,
  },
}

test.for(Object.entries(ways))(
  '%s: whatever model, tools, hooks and callers do, runs end, histories are well formed, events are whole',
  async ([, { orchestrator, first, numRuns }]) => {
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
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 4 * numRuns : Math.ceil(numRuns / 8), timeout: 10_000 },
    )
  },
)
