import type { Agent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { createWorker } from '@provost/server'
import { crashAt } from '@provost/testing'
import type { CrashInjector } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import {
  agentOf,
  begin,
  callsOnce,
  childOf,
  childrenOf,
  endOf,
  entriesOf,
  grant,
  questionOf,
  questionsOf,
  sharedStore,
} from './elsewhere-scenario.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const never = new Promise<never>(() => {})

/** Effects outside of the process, by their keys. */
interface Outside {
  readonly paid: string[]
}

/** The agents of a process. The clerk pays after an approval, the lead before and after it asks the clerk. */
function agentsOf(store: SessionStore, { paid }: Outside, crash: CrashInjector): readonly Agent[] {
  const pay = (needsApproval: boolean) =>
    tool({
      name: 'pay',
      effect: 'write',
      needsApproval: () => needsApproval,
      input: z.object({}),
      lookup: (key) => (paid.includes(key) ? { output: 'paid' } : undefined),
      async execute(_, { idempotencyKey }) {
        await crash.moment('before an effect')
        paid.push(idempotencyKey)
        await crash.moment('after an effect')
        return 'paid'
      },
    })
  const clerk = agentOf('clerk', store, callsOnce('pay', {}), { tools: [pay(true)], leaseMs: 100 })
  const askClerk = clerk.toTool({ name: 'ask_clerk', description: 'Asks.', where: 'any', grant })
  const lead = agentOf(
    'lead',
    store,
    [
      ({ messages }) => {
        const name = ['pay', 'ask_clerk', 'pay'][messages.filter(({ role }) => role === 'tool').length]
        return name ? { toolCalls: [{ name, input: name === 'pay' ? {} : { task: 'Pay.' } }] } : { text: 'All paid.' }
      },
    ],
    { tools: [pay(false), askClerk], leaseMs: 100 },
  )
  return [lead, clerk]
}

/** A process that dies at a moment: nothing that it does after it reaches the store. */
function processOf(store: SessionStore, outside: Outside, at: number): CrashInjector {
  let isDead = false
  const crash = crashAt(at, () => (isDead = true))
  const appends = crash.store(store)
  const mortal: SessionStore = {
    ...appends,
    async deliver(...given) {
      await crash.moment('deliver-before')
      const outcome = await store.deliver(...given)
      await crash.moment('deliver-after')
      return outcome
    },
    async setDue(...given) {
      await crash.moment('set-due')
      await store.setDue?.(...given)
    },
    claimDue: async (options) => (isDead ? never : ((await store.claimDue?.(options)) ?? [])),
  }
  const worker = createWorker({ agents: agentsOf(mortal, outside, crash), store: mortal, pollMs: 5, onError: () => {} })
  onTestFinished(() => {
    void worker.close({ graceMs: 0 })
  })
  return crash
}

/** Waits until the process has died, or the child asks. */
async function untilDeadOrAsked(store: SessionStore, crash: CrashInjector, at: number): Promise<void> {
  await expect
    .poll(async () => {
      const [child] = await childrenOf(store)
      return crash.moments.length >= at || (child !== undefined && (await questionsOf(store, child.log)).length > 0)
    })
    .toBe(true)
}

/** Answers the one question, and waits for the end. @returns what was paid, by how many keys, and how the child ended */
async function toTheEnd(store: SessionStore, { paid }: Outside): Promise<readonly unknown[]> {
  const { log } = await childOf(store)
  const token = await questionOf(store, log)
  await store.deliver('s', token, { decision: 'approve' }, 'boss')
  expect(await endOf(store)).toMatchObject({ status: 'completed', output: 'All paid.' })
  const joined = (await entriesOf(store, 's')).flatMap((entry) =>
    entry.type === 'child' && entry.op === 'joined' && entry.status !== 'suspended' ? [entry.status] : [],
  )
  return [paid.length, new Set(paid).size, ...joined]
}

/** A process that does not die passes about 60 moments: letters and claims may come in another order. */
const mostMoments = 66
const moments = Array.from({ length: mostMoments }, (_, n) => n + 1).filter((at) => full || at % 32 === 7)

test.for(moments)('a process that dies at moment %i loses no child and repeats no effect', async (at) => {
  for (const isAlone of [true, false]) {
    const store = sharedStore()
    const outside: Outside = { paid: [] }
    const crash = processOf(store, outside, at)
    const [lead] = agentsOf(store, outside, crashAt(Infinity))
    if (!lead) throw new Error('no agent')
    await begin(store, lead)
    if (isAlone) await untilDeadOrAsked(store, crash, at)
    processOf(store, outside, Infinity)
    expect(await toTheEnd(store, outside)).toEqual([3, 3, 'completed'])
  }
})
