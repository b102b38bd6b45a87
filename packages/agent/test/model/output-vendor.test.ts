import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'

import { askedModel, failure, lines } from '../hooks/hook-scenario.ts'

const ulm = '{"city":"Ulm","people":126000}'

describe('output after a schema of valibot', () => {
  const output = v.object({ city: v.string(), people: v.pipe(v.number(), v.integer()) })

  it('is typed, validated and described to the model', async () => {
    const asked: ScriptedPrompt[] = []
    const result = await createAgent({ name: 'geo', model: askedModel(asked, [{ text: ulm }]), output }).run('Where?')
    if (result.status !== 'completed') throw result.error
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; people: number }>()
    expect(result.output).toEqual({ city: 'Ulm', people: 126_000 })
    expect(asked[0]?.options.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', properties: { people: { type: 'integer' } } },
    })
  })

  it('is repaired once, then fails', async () => {
    const asked: ScriptedPrompt[] = []
    const wrong = '{"city":"Ulm","people":"many"}'
    expect(
      (
        await createAgent({ name: 'geo', model: askedModel(asked, [{ text: wrong }, { text: ulm }]), output }).run(
          'Where?',
        )
      ).status,
    ).toBe('completed')
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toContain('people: ')
    const failing = createAgent({ name: 'geo', model: scriptedModel([{ text: wrong }, { text: wrong }]), output })
    expect(failure(await failing.run('Where?')).code).toBe('output-invalid')
  })
})

describe('output after a type of arktype', () => {
  const output = type({ city: 'string', people: 'number.integer' })

  it('is typed, validated and described to the model', async () => {
    const asked: ScriptedPrompt[] = []
    const result = await createAgent({ name: 'geo', model: askedModel(asked, [{ text: ulm }]), output }).run('Where?')
    if (result.status !== 'completed') throw result.error
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; people: number }>()
    expect(result.output).toEqual({ city: 'Ulm', people: 126_000 })
    expect(asked[0]?.options.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', properties: { people: { type: 'integer' } } },
    })
  })

  it('is repaired once, then fails', async () => {
    const asked: ScriptedPrompt[] = []
    const wrong = '{"city":"Ulm","people":"many"}'
    expect(
      (
        await createAgent({ name: 'geo', model: askedModel(asked, [{ text: wrong }, { text: ulm }]), output }).run(
          'Where?',
        )
      ).status,
    ).toBe('completed')
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toContain('people: ')
    const failing = createAgent({ name: 'geo', model: scriptedModel([{ text: wrong }, { text: wrong }]), output })
    expect(failure(await failing.run('Where?')).code).toBe('output-invalid')
  })
})
