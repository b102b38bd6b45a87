// Checked by the compiler alone: a driver of one's own, where each method knows its argument and must return its result.
import { advance, createAgent, foldLog, nextAction, pendingWork, resumeLoop, runLoop, startLoop } from 'provost'
import type { Decisions, Entry, LoopDriver, NextAction, PendingWork, RunStatus, SessionState } from 'provost'
import { expectTypeOf } from 'vitest'

const agent = createAgent({ name: 'a', model: 'openai/gpt-5' })
const log: Entry[] = []

export async function byHand(): Promise<void> {
  const driver: LoopDriver = {
    takeInputs: (at) => {
      expectTypeOf(at).toEqualTypeOf<'step' | 'end'>()
      return []
    },
    callModel: ({ request, step }) => ({
      failure: {
        class: 'network',
        model: request.model,
        attempt: step,
        effects: false,
        error: { code: 'x', message: 'y' },
      },
    }),
    authorize: (calls) => calls.map((call, index) => (index > 0 ? { deny: 'one is enough' } : { proceed: call.input })),
    execute: async (calls) =>
      calls.map((call) => ({ ...call, outcome: 'ok', via: 'executed', output: { type: 'text', value: '' } })),
    awaitDecisions: (pending): Decisions | 'suspend' => {
      expectTypeOf(pending).toEqualTypeOf<PendingWork>()
      return 'suspend'
    },
    append: (entries) => {
      expectTypeOf(entries).toEqualTypeOf<readonly Entry[]>()
      log.push(...entries)
    },
  }
  const loop = await startLoop(agent, driver, 'hi')
  expectTypeOf(await advance(loop)).toEqualTypeOf<RunStatus | undefined>()
  expectTypeOf(await runLoop(resumeLoop(agent, driver, log))).toEqualTypeOf<RunStatus>()

  const state: SessionState = foldLog(log)
  expectTypeOf(nextAction(state)).toEqualTypeOf<NextAction>()
  expectTypeOf(pendingWork(state)).toEqualTypeOf<PendingWork>()
}
