import { RunState } from '@provost/agent'
import type { Agent, AgentStream } from '@provost/agent'
import type { RunState as State } from '@provost/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { collect, expectSound, expectTaken, readLog } from '../run/run-check.ts'
import { actorOf, answersTo, script } from '../run/run-script.ts'
import { createWorld, mortal } from './crash-world.ts'
import type { Death, World } from './crash-world.ts'

const sessionId = 'session'

/** The state of a session's run, made from nothing but its log. */
async function stateFrom(world: World, agent: Agent): Promise<State<string> | undefined> {
  const entries = await readLog(world.store, sessionId)
  const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  if (started?.type !== 'run' || started.op !== 'started') return undefined
  const { manifest, runId } = started
  const cursor = { sessionId, runId, offset: entries.length }
  return RunState.fromJSON(JSON.stringify({ v: 1, manifest, agent: agent.name, cursor }), agent)
}

test('a log that driver after driver continues reaches its end and is complete, wherever each driver dies', async () => {
  const death = fc.constantFrom<Death>('unanswered', 'unwritten', 'refused')
  const lives = fc.array(fc.tuple(fc.nat(7), death), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(script, lives, fc.scheduler(), fc.nat(8), async (play, deaths, scheduler, choice) => {
      const world = createWorld()
      const later = <T>(value: T, label: string): Promise<T> => scheduler.schedule(Promise.resolve(value), label)

      /** A driver goes on until its run ends, is suspended for good, or it dies. */
      const live = async (appends: number, how: Death): Promise<void> => {
        const { store, died } = mortal(world, appends, how)
        const actor = actorOf(play, store, later)
        const follow = async (stream: AgentStream, round = 0): Promise<void> => {
          actor.watch(stream)
          const seen = await collect(stream)
          expectSound(seen)
          if (seen.result.status !== 'suspended') return
          expect(round).toBeLessThan(20)
          const answers = answersTo(seen.result.pending, choice + round)
          return follow(actor.agent.stream(seen.result.state, answers), round + 1)
        }
        const state = await stateFrom(world, actor.agent)
        const { onApproval } = actor
        const options = { onApproval }
        const stream = state ? actor.agent.stream(state, options) : actor.agent.stream('Go.', { ...options, sessionId })
        const work = follow(stream)
        await scheduler.waitFor(how === 'refused' ? work : Promise.race([work, died]))
      }

      for (const [appends, how] of deaths) await live(appends, how)
      await live(Infinity, 'refused')
      await expectTaken(world.store, sessionId)
      const entries = await readLog(world.store, sessionId)
      expect(entries.map(({ offset }) => offset)).toEqual(entries.map((_, index) => index + 1))
    }),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 300 : 10, timeout: 60_000 },
  )
})
