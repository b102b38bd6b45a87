import { createAgent } from '@provost/agent'
import type { Entry, Fold, Steps } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

/** Work that lasts for some turns of the event loop, wherever it runs. */
function* long(pieces: number): Steps<number> {
  let done = 0
  for (; done < pieces; done++) {
    const until = performance.now() + 2
    while (performance.now() < until);
    yield
  }
  return done
}

function runWith(
  hook: (
    ctx: Parameters<NonNullable<Parameters<typeof defineExtension>[0]['hooks']>['model.request'] & {}>[1],
  ) => unknown,
) {
  const extension = defineExtension({
    name: 'worker',
    hooks: {
      async 'model.request'(_, ctx) {
        await hook(ctx)
        return undefined
      },
    },
  })
  return createAgent({ name: 'a', model: scriptedModel([{ text: 'done' }]), extensions: [extension] })
}

test('work in steps lets the event loop turn, and work without a pause is done at once', async () => {
  let turns = 0
  let value: unknown
  let atOnce: unknown
  const agent = runWith(async (ctx) => {
    let over = false
    const turn = (): void => {
      turns++
      if (!over) setImmediate(turn)
    }
    setImmediate(turn)
    value = await ctx.inTurns(long(60))
    over = true
    atOnce = ctx.inTurns(long(0))
  })
  expect((await agent.run('go')).status).toBe('completed')
  expect({ value, atOnce }).toEqual({ value: 60, atOnce: 0 })
  expect(turns).toBeGreaterThan(4)
})

test('work in steps ends with the run', async () => {
  const controller = new AbortController()
  let steps = 0
  function* endless(): Steps<never> {
    for (;;) {
      steps++
      if (steps === 20) setImmediate(() => controller.abort())
      yield* long(1)
    }
  }
  const agent = runWith((ctx) => ctx.inTurns(endless()))
  expect((await agent.run('go', { signal: controller.signal })).status).toBe('aborted')
  const then = steps
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(steps).toBe(then)
})

/** Counts entries slowly. */
const slow: Fold<{ readonly counted: readonly string[] }> = {
  key: 'test/slow',
  initial: { counted: [] },
  apply: (state, { id }) => ({ counted: [...state.counted, id] }),
  *steps(state, entry: Entry) {
    yield* long(10)
    return this.apply(state, entry)
  },
}

test('a fold in steps counts each entry once, even if other callers ask meanwhile', async () => {
  const seen: (readonly string[])[] = []
  const agent = runWith(async (ctx) => {
    const first = ctx.foldInTurns(slow)
    const second = ctx.foldInTurns(slow)
    // Brings to its end what the others have begun.
    seen.push(ctx.fold(slow).counted, (await second).counted, (await first).counted)
    seen.push((await ctx.foldInTurns(slow)).counted)
  })
  expect((await agent.run('go')).status).toBe('completed')
  const [now = []] = seen
  expect(now.length).toBeGreaterThan(1)
  expect(new Set(now).size).toBe(now.length)
  for (const one of seen) expect(one).toEqual(now)
})
