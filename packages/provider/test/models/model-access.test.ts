import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ClearedModel, Confidentiality, Label } from '@provost/core'
import { trustedLabel } from '@provost/core'
import type { AnyModel, ModelAnswer } from '@provost/provider'
import { callModel, isModelCleared, modelName, resolveModel } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import { generateText, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'

const labelled = (confidentiality: Confidentiality): Label => ({ ...trustedLabel, confidentiality })
const all = ['public', 'internal', 'secret'] as const

function cleared(...accepts: readonly Confidentiality[]): ClearedModel {
  return { model: scriptedModel([{ text: 'ok' }], { after: 'repeat-last', modelId: 'm' }), accepts }
}
function ask(model: AnyModel, label?: Label): Promise<ModelAnswer> {
  return callModel({ model, prompt: [], label, callId: String }, () => {})
}

describe('a model with limited clearance', () => {
  it.each([
    [
      ['public', 'internal'],
      [true, true, false],
    ],
    [['public'], [true, false, false]],
    [['secret'], [true, true, true]],
    [['internal'], [true, true, false]],
    [[], [false, false, false]],
  ] as const)('that accepts %j rejects more confidential content', async (accepts, expected) => {
    const spec = cleared(...accepts)
    const model = await resolveModel(spec)
    const read = await Promise.all(all.map(async (word) => (await ask(model, labelled(word))).ok))
    expect(read).toEqual(expected)
    expect(all.map((word) => isModelCleared(spec, labelled(word)))).toEqual(expected)
  })

  it('states what it rejected, and that nothing was sent', async () => {
    const answer = await ask(await resolveModel(cleared('public')), labelled('secret'))
    expect(answer).toMatchObject({
      ok: false,
      error: { code: 'clearance-denied' },
      fault: {
        class: 'invalid-request',
        retryable: false,
        message: 'scripted/m accepts public, and this call is secret: nothing was sent.',
      },
    })
  })

  it('treats unlabelled content as secret', async () => {
    expect((await ask(await resolveModel(cleared('internal')))).ok).toBe(false)
    expect((await ask(await resolveModel(cleared('secret')))).ok).toBe(true)
  })

  it('enforces its clearance inside a wrapper, and when other code calls it', async () => {
    const gate = await resolveModel(cleared('internal'))
    const wrapped = wrapLanguageModel({ model: gate, middleware: { specificationVersion: 'v4' } })
    expect((await ask(wrapped, labelled('internal'))).ok).toBe(true)
    expect((await ask(wrapped, labelled('secret'))).ok).toBe(false)
    await expect(generateText({ model: gate, prompt: 'hi', maxRetries: 0 })).rejects.toThrow('this call is secret')
  })

  it('accepts no content if its confidentiality is unknown', async () => {
    const accepts: Confidentiality[] = JSON.parse('["top-secret", null, "constructor"]')
    expect((await ask(await resolveModel(cleared(...accepts)), labelled('public'))).ok).toBe(false)
  })

  it('receives the schema in its prompt where its provider only knows JSON', async () => {
    const asked: string[] = []
    const inner = Object.freeze({
      ...scriptedModel([]),
      supportsStructuredOutputs: false,
      doStream: ({ prompt }: LanguageModelV4CallOptions) => {
        asked.push(JSON.stringify(prompt))
        return Promise.reject(new Error('no answer'))
      },
    })
    const model = await resolveModel({ model: inner, accepts: ['secret'] })
    const responseFormat = { schema: { type: 'object', title: 'Invoice' }, name: 'output' } as const
    await callModel({ model, prompt: [], responseFormat, callId: String }, () => {})
    expect(asked).toEqual([expect.stringContaining('Invoice')])
  })

  it('has the name of the model, and is the same object each time', async () => {
    const spec = cleared('internal')
    expect(modelName(spec)).toBe('scripted/m')
    expect(await resolveModel(spec)).toBe(await resolveModel(spec))
    expect(modelName(await resolveModel(spec))).toBe('scripted/m')
  })
})

it('a model without a clearance accepts all content', () => {
  expect(isModelCleared('openai/gpt-5', labelled('secret'))).toBe(true)
})
