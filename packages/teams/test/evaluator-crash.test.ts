import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import { mortal } from '@provost/agent/test/crash/crash-world'
import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { evaluatorOptimizer } from '@provost/teams'
import type { Optimized } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

const usage = { inputTokens: 10, outputTokens: 5 }

/** What the models were asked. */
interface Asked {
  readonly prompts: string[]
}

function desk(store: SessionStore): Agent {
  return createAgent({ name: 'desk', model: scriptedModel([]), store })
}

function optimize(store: SessionStore, asked: Asked): Promise<Optimized<string>> {
  const agent = (name: string, say: (prompt: string) => string): Agent =>
    createAgent({
      name,
      model: scriptedModel(
        [
          ({ messages }) => {
            const prompt = JSON.stringify(messages)
            asked.prompts.push(`${name} ${prompt}`)
            return { text: say(prompt), usage }
          },
        ],
        { after: 'repeat-last' },
      ),
      store,
    })
  const writer = agent('writer', (prompt) => {
    if (prompt.includes('say how much')) return 'third'
    return prompt.includes('be warmer') ? 'second' : 'first'
  })
  const judge = agent('judge', (prompt) => {
    if (prompt.includes('third')) return '{"score":0.9,"feedback":"good"}'
    return prompt.includes('second')
      ? '{"score":0.4,"feedback":"say how much"}'
      : '{"score":0.2,"feedback":"be warmer"}'
  })
  return desk(store)
    .resumeSession('ann')
    .then((within) =>
      evaluatorOptimizer({
        generator: writer,
        input: 'Write.',
        session: within,
        store,
        evaluator: { kind: 'llm-judge', judge, criteria: 'warmth' },
      }),
    )
}

test('wherever its process dies, it comes to the same end, and no child that has ended is asked again', async () => {
  const plain = memoryStore()
  await desk(plain).createSession({ id: 'ann' })
  let appends = 0
  const calm: Asked = { prompts: [] }
  const counting: SessionStore = { ...plain, append: (...of) => (appends++, plain.append(...of)) }
  const undisturbed = await optimize(counting, calm)
  expect(undisturbed).toMatchObject({ accepted: true, output: 'third' })
  expect(calm.prompts).toHaveLength(6)
  const every = process.env['PROVOST_TEST_FULL'] === '1' ? 1 : 7
  for (let lives = appends - 1; lives > 0; lives -= every) {
    const store = memoryStore()
    await desk(store).createSession({ id: 'ann' })
    const asked: Asked = { prompts: [] }
    const first = mortal({ store, stored: [] }, lives, 'unwritten')
    await Promise.race([optimize(first.store, asked), first.died])
    const result = await optimize(store, asked)
    expect([lives, result.output, result.iterations]).toEqual([lives, 'third', undisturbed.iterations])
    // The child that was cut off is asked at most once more: what ended before is known.
    expect(new Set(asked.prompts)).toEqual(new Set(calm.prompts))
    expect(asked.prompts.length).toBeLessThanOrEqual(calm.prompts.length + 1)
    expect(result.usage.inputTokens).toBe(60)
  }
})
