// Checked by the compiler alone: a loop driven by hand, where each handler knows its question and must give its answer.
import { createAgent, drive, foldLog, loop, nextAction, pendingWork, startEntries } from 'provost'
import type { Decisions, SessionState, Loop, LoopAsk, NewEntry, PendingWork, NextAction, RunStatus } from 'provost'
import { expectTypeOf } from 'vitest'

const agent = createAgent({ name: 'a', model: 'openai/gpt-5' })
const log = startEntries(agent, 'hi')

export async function byHand(): Promise<void> {
  const status = await drive(loop(agent, log), {
    input: ({ at }) => {
      expectTypeOf(at).toEqualTypeOf<'step' | 'end'>()
      return []
    },
    model: ({ request }) => ({
      failure: {
        class: 'network',
        model: request.model,
        attempt: 1,
        effects: false,
        error: { code: 'x', message: 'y' },
      },
    }),
    decide: ({ calls }) =>
      calls.map((call, index) => (index > 0 ? { deny: 'one is enough' } : { proceed: call.input })),
    execute: async ({ calls, delivered }) => {
      expectTypeOf(delivered).toExtend<Readonly<Record<string, unknown>>>()
      return calls.map((call) => ({ ...call, outcome: 'ok', via: 'executed', output: { type: 'text', value: '' } }))
    },
    wait: ({ pending }): Decisions | 'suspend' => {
      expectTypeOf(pending).toEqualTypeOf<PendingWork>()
      return 'suspend'
    },
    append: ({ entries }) => {
      expectTypeOf(entries).toEqualTypeOf<readonly NewEntry[]>()
      return { offset: entries.length }
    },
  })
  expectTypeOf(status).toEqualTypeOf<RunStatus>()

  // Or without `drive`.
  const turns: Loop = loop(agent, log)
  const first = await turns.next()
  if (!first.done) expectTypeOf(first.value).toEqualTypeOf<LoopAsk>()

  const state: SessionState = foldLog(log)
  expectTypeOf(nextAction(state)).toEqualTypeOf<NextAction>()
  expectTypeOf(pendingWork(state)).toEqualTypeOf<PendingWork>()
}
