import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import { defineExtension } from '@provost/core'
import type { Extension, ModelSpec, Tier } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedEntry } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { extension, failure, only, watch } from '../hooks/hook-scenario.ts'

function toolOf(name: string, preferredModel?: Tier) {
  return tool({ name, input: z.object({}), ...(preferredModel && { preferredModel }), execute: () => name })
}
const tools = [toolOf('plain'), toolOf('hard', 'smart'), toolOf('easy', 'fast')]

/** Models that share a script: whichever is asked gives the next step. */
function sharing(steps: readonly ScriptedEntry[]): (modelId: string) => LanguageModelV4 {
  const script = scriptedModel(steps)
  return (modelId) => ({ ...script, modelId })
}
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ name })) })
const done = { text: 'done' }

/** The models that were asked, step by step. */
async function modelsOf(
  steps: readonly ScriptedEntry[],
  options: {
    model?: (of: (id: string) => LanguageModelV4) => ModelSpec
    given?: (of: (id: string) => LanguageModelV4) => ModelSpec
    extensions?: readonly Extension[]
    more?: Partial<AgentOptions>
  } = {},
): Promise<string[]> {
  const of = sharing(steps)
  const { model = () => ({ fast: of('fast'), balanced: of('balanced'), smart: of('smart') }) } = options
  const agent = createAgent({
    name: 'a',
    model: model(of),
    tools,
    extensions: options.extensions ?? [],
    ...options.more,
  })
  const { events } = await watch(agent.stream('go', options.given && { model: options.given(of) }))
  return only(events, 'step.start').map((event) => event.model.replace('scripted/', ''))
}

describe('the tier of a step', () => {
  it('is balanced, and after a call of a tool that prefers another it is that one, for the step that reads the result', async () => {
    expect(await modelsOf([calls('hard'), calls('plain'), calls('easy'), done])).toEqual([
      'balanced',
      'smart',
      'balanced',
      'fast',
    ])
  })

  it.each([
    [['hard', 'easy'], 'smart'],
    [['easy', 'plain'], 'balanced'],
    [['easy', 'easy'], 'fast'],
    [['plain', 'hard'], 'smart'],
  ] as const)('after calls of %j is the highest: %s', async (names, expected) => {
    expect(await modelsOf([calls(...names), done])).toEqual(['balanced', expected])
  })

  it('is not changed by a denied call, which has no result to read', async () => {
    const deny = extension('deny', {
      'tool.call': ({ tool: { name } }) => (name === 'hard' ? { deny: 'no' } : undefined),
    })
    expect(await modelsOf([calls('hard'), done], { extensions: [deny] })).toEqual(['balanced', 'balanced'])
  })

  it('falls to the nearest where a tier is missing', async () => {
    const model = (of: (id: string) => LanguageModelV4): ModelSpec => ({ fast: of('fast'), smart: of('smart') })
    expect(await modelsOf([calls('hard'), calls('easy'), done], { model })).toEqual(['smart', 'smart', 'fast'])
    const one = { model: (of: (id: string) => LanguageModelV4): ModelSpec => ({ fast: of('fast') }) }
    const given = { given: one.model }
    expect(await modelsOf([calls('hard'), done], given)).toEqual(['fast', 'fast'])
    expect(await modelsOf([calls('plain'), done], { ...one, more: { tools: [toolOf('plain')] } })).toEqual([
      'fast',
      'fast',
    ])
    expect(await modelsOf([calls('hard'), done], { model: (of) => of('only') })).toEqual(['only', 'only'])
  })

  it('is refused where a tool asks for one that the agent’s model lacks', () => {
    const of = sharing([done])
    const model = { fast: of('fast'), balanced: of('balanced') }
    expect(() => createAgent({ name: 'a', model, tools })).toThrow(/tool hard with preferredModel: 'smart'/)
    expect(() => createAgent({ name: 'a', model, tools: [toolOf('easy', 'fast')] })).not.toThrow()
    expect(() => createAgent({ name: 'a', model, extensions: [defineExtension({ name: 'more', tools })] })).toThrow(
      /preferredModel: 'smart'/,
    )
  })

  it('is the same for a run in progress elsewhere', async () => {
    const store = memoryStore()
    const agentOf = (...steps: readonly ScriptedEntry[]) => {
      const of = sharing(steps)
      return createAgent({
        name: 'a',
        model: { balanced: of('balanced'), smart: of('smart') },
        tools: [toolOf('plain'), toolOf('hard', 'smart')],
        store,
        settings: { maxRetries: 0 },
      })
    }
    const broken = await agentOf(calls('hard'), { error: new TypeError('fetch failed') }).run('go')
    expect(failure(broken).code).toBe('network')
    const { events, result } = await watch(agentOf(done).stream(broken.state))
    expect(result.status).toBe('completed')
    expect(only(events, 'step.start').map(({ model }) => model)).toEqual(['scripted/smart'])
  })
})

describe('the ladder in another agent of the team', () => {
  /** Chooses for it, in the step that reads what its tool gave. */
  const choosing: Extension = {
    ...extension('choose', {
      'model.request': ({ spec }, { agent, view }) =>
        agent.name === 'other' &&
        view.messages.at(-1)?.role === 'tool' &&
        typeof spec === 'object' &&
        'modelId' in spec &&
        'modelId' in spec
          ? { model: { ...spec, modelId: `hook over ${spec.modelId}` } }
          : undefined,
    }),
    scope: 'tree',
  }

  async function asked(
    by: 'child' | 'target',
    { given = false, extensions = [] }: { given?: boolean; extensions?: readonly Extension[] } = {},
  ): Promise<string[]> {
    const of = sharing([calls(by === 'child' ? 'ask' : 'transfer_to_other'), calls('hard'), done, done])
    const tiers = { balanced: of('other-b'), smart: of('other-s') }
    const other = createAgent({ name: 'other', model: tiers, tools: [toolOf('hard', 'smart')] })
    const ask = other.toTool({ name: 'ask', description: 'Ask.', input: z.object({}), prompt: () => 'go' })
    const way = by === 'child' ? { tools: [ask] } : { handoffs: [other] }
    const agent = createAgent({ name: 'a', model: of('a'), ...way, extensions })
    const { events } = await watch(agent.stream('go', given ? { model: of('run') } : {}))
    return only(events, 'step.start').map(({ model }) => model.replace('scripted/', ''))
  }

  it('a child goes by its own model and tiers, and by a hook of the tree before all', async () => {
    expect(await asked('child')).toEqual(['a', 'other-b', 'other-s', 'a'])
    expect(await asked('child', { given: true })).toEqual(['run', 'other-b', 'other-s', 'run'])
    expect(await asked('child', { given: true, extensions: [choosing] })).toEqual([
      'run',
      'other-b',
      'hook over other-s',
      'run',
    ])
  })

  it('the target of a handoff continues with the run’s model, by its own tiers, and by a hook of the tree before all', async () => {
    expect(await asked('target')).toEqual(['a', 'other-b', 'other-s'])
    expect(await asked('target', { given: true })).toEqual(['run', 'run', 'other-s'])
    expect(await asked('target', { given: true, extensions: [choosing] })).toEqual(['run', 'run', 'hook over other-s'])
  })
})

describe('the model of a step', () => {
  const choose = (id: string, seen: string[] = []): Extension =>
    extension('choose', {
      'model.request': ({ model }) => {
        seen.push(model)
        return { model: scriptedModel([done], { modelId: id }) }
      },
    })

  it('is the agent’s, and before that the run’s', async () => {
    expect(await modelsOf([done], { model: (of) => of('agent') })).toEqual(['agent'])
    expect(await modelsOf([done], { model: (of) => of('agent'), given: (of) => of('run') })).toEqual(['run'])
  })

  it('before that the one of the tier that a tool asks for, in the run’s tiers if it has any', async () => {
    const agent = (of: (id: string) => LanguageModelV4): ModelSpec => ({
      fast: of('f'),
      balanced: of('b'),
      smart: of('s'),
    })
    expect(await modelsOf([calls('hard'), done], { model: agent, given: (of) => of('run') })).toEqual(['run', 's'])
    const tiers = (of: (id: string) => LanguageModelV4): ModelSpec => ({ balanced: of('run-b'), smart: of('run-s') })
    expect(await modelsOf([calls('hard'), done], { model: agent, given: tiers })).toEqual(['run-b', 'run-s'])
    expect(await modelsOf([calls('hard'), done], { model: (of) => of('agent'), given: (of) => of('run') })).toEqual([
      'run',
      'run',
    ])
  })

  it('and before all the one a hook chooses, which sees what it replaces', async () => {
    const seen: string[] = []
    const once = extension('once', {
      'model.request': (_, ctx) =>
        ctx.run.step === 1 ? undefined : choose('hook', seen).hooks['model.request']?.(_, ctx),
    })
    expect(await modelsOf([calls('hard'), done], { given: (of) => of('run'), extensions: [once] })).toEqual([
      'run',
      'hook',
    ])
    expect(seen).toEqual(['scripted/smart'])
  })

  it('follows the tier where a hook chooses tiers', async () => {
    const tiers = extension('tiers', {
      'model.request': () => ({
        model: {
          balanced: scriptedModel([calls('hard')], { modelId: 'hook-b' }),
          smart: scriptedModel([done], { modelId: 'hook-s' }),
        },
      }),
    })
    expect(await modelsOf([], { extensions: [tiers] })).toEqual(['hook-b', 'hook-s'])
  })
})
