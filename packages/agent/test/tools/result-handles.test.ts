import { createAgent, RunState } from '@provost/agent'
import type { NewEntry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { entriesOf, extension } from '../hooks/hook-scenario.ts'
import {
  agentOf,
  dump,
  durableStore,
  handleIn,
  outputs,
  read,
  reading,
  resultsIn,
  settled,
  spilledIn,
} from './result-scenario.ts'

const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index + 1}\n`).join('')
const spills = { truncation: 'spill', maxResultTokens: 100 } as const

describe('a result that is spilled', () => {
  it('is kept whole in the store; the model gets its beginning and a handle', async () => {
    const store = durableStore()
    const result = await agentOf({ store, tools: [dump(lines, spills)] }).run('go')
    const [[shown = ''] = []] = outputs(result)
    const handle = handleIn(shown)
    expect(shown).toMatch(/^line 1\nline 2\n/)
    expect(shown).toContain(`of ${lines.length} bytes (3000 lines)`)
    expect(shown).toContain(`read_result({"handle":"${handle}","bytes":{"from":`)
    const entry = spilledIn(await entriesOf(store, result.sessionId))
    expect(entry.data).toMatchObject({ handle, toolName: 'dump', bytes: lines.length, lines: 3_000 })
    expect(entry.data).not.toHaveProperty('text')
    expect(Buffer.from((await store.blob(entry.hash)) ?? []).toString()).toBe(lines)
  })

  it('is read by bytes and by lines', async () => {
    const model = reading(
      (handle) => [read({ handle, bytes: { from: 7, to: 21 } }), read({ handle, lines: { from: 2_999 } })],
      (handle) => [read({ handle, lines: { from: 2, to: 3 } }), read({ handle, bytes: { from: 1e9 } })],
    )
    const [, ...slices] = outputs(await agentOf({ model, tools: [dump(lines, spills)] }).run('go'))
    const size = lines.length
    expect(slices).toEqual([
      ['line 2\nline 3\n', `[Bytes 7 to 21 of ${size}. Go on with bytes from 21.]`],
      [
        'line 2999\nline 3000\n',
        `[Lines 2999 to 3000 of 3000, bytes ${size - 20} to ${size} of ${size}. This is the end.]`,
      ],
      ['line 2\nline 3\n', `[Lines 2 to 3 of 3000, bytes 7 to 21 of ${size}. Go on with lines from 4.]`],
      [`[Nothing is there: it has ${size} bytes and 3000 lines.]`],
    ])
  })

  it('is read back as JSON, byte by byte what the tool gave', async () => {
    const rows = Array.from({ length: 300 }, (_, id) => ({ id, name: `Zoë ${id}` }))
    const model = reading((handle) => [read({ handle })])
    const [shown, [slice = ''] = []] = outputs(await agentOf({ model, tools: [dump(rows, spills)] }).run('go'))
    expect(shown?.[0]).toContain('bytes (1 line) of JSON.')
    expect(JSON.parse(slice)).toEqual(rows)
  })

  it('gives slices of at most 32 KB, and says where to continue in a line that is longer', async () => {
    const text = `first\n${'x'.repeat(100_000)}\nlast`
    const model = reading((handle) => [
      read({ handle }),
      read({ handle, bytes: { from: 0, to: 1e9 } }),
      read({ handle, lines: { from: 1, to: 3 } }),
      read({ handle, lines: { from: 2, to: 2 } }),
    ])
    const [, ...slices] = outputs(await agentOf({ model, tools: [dump(text, spills)] }).run('go'))
    expect(slices.map(([slice = '', note]) => [slice.length, note])).toEqual([
      [32_768, '[Bytes 0 to 32768 of 100011. Go on with bytes from 32768.]'],
      [32_768, '[Bytes 0 to 32768 of 100011. Go on with bytes from 32768.]'],
      [6, '[Lines 1 to 1 of 3, bytes 0 to 6 of 100011. Go on with lines from 2.]'],
      [32_768, '[Lines 2 to 2 of 3, bytes 6 to 32774 of 100011. Go on with bytes from 32774.]'],
    ])
  })

  it('has no slice without the label of the whole, its fields included', async () => {
    const model = reading((handle) => [read({ handle, bytes: { from: 0, to: 5 } })])
    const returns = { integrity: 'trusted', readers: ['ann'], sources: ['books'] } as const
    const store = memoryStore()
    const { sessionId } = await agentOf({ model, store, tools: [dump(lines, { ...spills, returns })] }).run('go')
    const label = { integrity: 'trusted', confidentiality: 'internal', readers: ['ann'], sources: ['books'] }
    expect((await settled(store, sessionId)).map((entry) => entry.label)).toEqual([label, label])
  })

  it('may come from a hook, and two may be spilled at once', async () => {
    const answer = extension('answer', {
      'tool.call': ({ tool: { name } }) => (name === 'dump' ? { result: lines, label: {} } : undefined),
    })
    const model = scriptedModel([
      { toolCalls: [{ name: 'dump' }, { name: 'dump' }] },
      ({ messages }) => {
        const handles = [...JSON.stringify(messages).matchAll(/res_[\w-]{22}/g)].map(([handle]) => handle)
        return { toolCalls: handles.map((handle) => read({ handle, lines: { from: 9, to: 9 } })) }
      },
      { text: 'done' },
    ])
    const result = await agentOf({ model, tools: [dump('never run', spills)], extensions: [answer] }).run('go')
    expect(
      outputs(result)
        .slice(2)
        .map(([slice]) => slice),
    ).toEqual(['line 9\n', 'line 9\n'])
  })

  it('is there once more under the same handle where a crash came before its settling', async () => {
    const world = durableStore()
    let refuse = true
    const store: SessionStore = {
      ...world,
      append(log, entries, at) {
        const settles = entries.some((entry: NewEntry) => entry.type === 'call' && entry.op === 'settled')
        return settles && refuse ? Promise.reject(new Error('the store is gone')) : world.append(log, entries, at)
      },
    }
    const tools = [dump(lines, spills)]
    const died = await agentOf({ store, tools }).run('go', { sessionId: 's' })
    expect(died.status).toBe('failed')
    refuse = false
    const before = spilledIn(await entriesOf(world, 's'))
    const again = agentOf({ store, model: scriptedModel([{ text: 'done' }]), tools })
    const { manifest, agent, cursor } = { ...died.state, cursor: { ...died.state.cursor, runId: died.runId } }
    const entries = await entriesOf(world, 's')
    const json = { v: 1, manifest, agent, cursor: { ...cursor, offset: entries.length } }
    const result = await again.run(RunState.fromJSON(JSON.stringify(json), again))
    expect(result.status).toBe('completed')
    expect(handleIn(outputs(result))).toBe(before.handle)
    expect((await entriesOf(world, 's')).filter(({ type }) => type === 'ext')).toHaveLength(1)
  })
})

describe('slices', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'ß', '語', '😀', '\n', '\r\n', '\uFEFF', '. '),
    minLength: 60,
    maxLength: 300,
  })
  const limit = { truncation: 'spill', maxResultTokens: 1 } as const

  it('that meet give the whole, wherever they are cut: no character is lost, doubled or split', async () => {
    const cuts = fc.array(fc.nat(1_200), { maxLength: 8 })
    const property = fc.asyncProperty(text, cuts, async (whole, at) => {
      const points = [0, ...at.toSorted((a, b) => a - b), 2_000]
      const ranges = points.slice(1).map((to, index) => ({ from: points[index] ?? 0, to }))
      const model = reading((handle) => ranges.map((bytes) => read({ handle, bytes })))
      const [, ...slices] = outputs(await agentOf({ model, tools: [dump(whole, limit)] }).run('go'))
      const texts = slices.map((slice) => (slice.length > 1 ? (slice[0] ?? '') : ''))
      expect(texts.join('')).toBe(whole)
      expect(texts.every((part) => part.isWellFormed() && !part.includes('\uFFFD'))).toBe(true)
    })
    await fc.assert(property)
  })

  it('by lines are what the text has between its line feeds', async () => {
    const property = fc.asyncProperty(text, fc.nat(20), fc.nat(20), async (whole, first, more) => {
      const from = first + 1
      const model = reading((handle) => [read({ handle, lines: { from, to: from + more } })])
      const [, slice = []] = outputs(await agentOf({ model, tools: [dump(whole, limit)] }).run('go'))
      const expected = (whole.match(/[^\n]*\n|[^\n]+$/g) ?? []).slice(first, first + more + 1).join('')
      expect(slice.length > 1 ? slice[0] : '').toBe(expected)
    })
    await fc.assert(property)
  })
})

describe('a handle', () => {
  it('is invalid in another session, even with a guessed hash', async () => {
    const store = durableStore()
    const first = await agentOf({ store, tools: [dump(lines, spills)] }).run('go')
    const entry = spilledIn(await entriesOf(store, first.sessionId))
    const guesses = [entry.handle, entry.hash, `${entry.callId}/${entry.hash}`, 'x'.repeat(5_000)]
    const model = scriptedModel([{ toolCalls: guesses.map((handle) => read({ handle })) }, { text: 'done' }])
    const second = await agentOf({ store, model, tools: [dump(lines, spills)] }).run('go')
    const answers = outputs(second).map(([answer = '']) => answer)
    for (const answer of answers.slice(0, 3))
      expect(answer).toMatch(/^There is no result with the handle ".*" in this session\./)
    expect(answers[3]).toContain('does not fit')
    expect(Math.max(...answers.map(({ length }) => length))).toBeLessThan(1_000)
  })

  it('is new for each result, whatever is in it', async () => {
    const tools = [dump(lines, spills)]
    const handles = await Promise.all([1, 2].map(async () => handleIn(outputs(await agentOf({ tools }).run('go')))))
    expect(new Set(handles).size).toBe(2)
  })

  it('holds in later runs of its session', async () => {
    const store = durableStore()
    const { sessionId, messages } = await agentOf({ store, tools: [dump(lines, spills)] }).run('go')
    const handle = handleIn(messages)
    const model = scriptedModel([{ toolCalls: [read({ handle, lines: { from: 3, to: 3 } })] }, { text: 'done' }])
    const later = await agentOf({ store, model, tools: [dump(lines, spills)] }).run('and now', { sessionId })
    expect(outputs(later).at(-1)?.[0]).toBe('line 3\n')
  })

  const pay = tool({ name: 'pay', input: z.object({}), needsApproval: true, execute: () => 'paid' })
  const clerk = (store: SessionStore) =>
    createAgent({
      name: 'clerk',
      store,
      tools: [dump(lines, spills), pay],
      model: scriptedModel(
        [
          ({ messages }: ScriptedPrompt) => {
            const said = JSON.stringify(messages)
            if (said.includes('paid'))
              return said.includes('Lines')
                ? { text: 'done' }
                : { toolCalls: [read({ handle: handleIn(said), lines: { from: 2_000, to: 2_000 } })] }
            return { toolCalls: [{ name: handleIn(said) ? 'pay' : 'dump' }] }
          },
        ],
        { after: 'repeat-last' },
      ),
    })

  it.each([
    ['the same store', durableStore()],
    ['a store in memory, whose log travels in the state', undefined],
  ])('survives a resume in another process, with %s', async (_, store) => {
    const first = await clerk(store ?? memoryStore()).run('go')
    expect(first.status).toBe('suspended')
    const other = clerk(store ?? memoryStore())
    const approvals =
      first.status === 'suspended'
        ? first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
        : []
    const result = await other.run(RunState.fromJSON(JSON.stringify(first.state), other), { approvals })
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
    expect(outputs(result).at(-1)?.[0]).toBe('line 2000\n')
  })

  it('whose bytes are gone says so', async () => {
    const store = durableStore()
    const model = reading((handle) => [read({ handle })])
    const forgetful = { ...store, blob: async () => undefined }
    const [, [answer] = []] = outputs(
      await agentOf({ model, store: forgetful, tools: [dump(lines, spills)] }).run('go'),
    )
    expect(answer).toMatch(/^The bytes of res_.* are not in this store\.\nCall dump again/)
  })
})

describe('a secret result', () => {
  const secret = dump(lines, { ...spills, returns: { confidentiality: 'secret' } })

  it('is not spilled to a store that others may read: it is cut, and the model is told why', async () => {
    const puts: Uint8Array[] = []
    const store = memoryStore()
    const watched = { ...store, putBlob: (bytes: Uint8Array) => (puts.push(bytes), store.putBlob(bytes)) }
    const result = await agentOf({ store: watched, tools: [secret] }).run('go')
    expect(outputs(result)[0]?.[0]).toMatch(
      /\[Cut here: .* The rest was not kept: it is secret, and others can read the store\.\]$/,
    )
    expect(puts).toEqual([])
    expect((await entriesOf(store, result.sessionId)).filter(({ type }) => type === 'ext')).toEqual([])
  })

  it('is spilled to one that is private, and its slices are secret', async () => {
    const store = { ...memoryStore(), private: true as const }
    const model = reading((handle) => [read({ handle, lines: { from: 5, to: 5 } })])
    const result = await agentOf({ store, model, tools: [secret] }).run('go')
    expect(outputs(result)[1]?.[0]).toBe('line 5\n')
    const labels = (await settled(store, result.sessionId)).map(({ label }) => label.confidentiality)
    expect(labels).toEqual(['secret', 'secret'])
  })
})

describe('read_result', () => {
  it('is there exactly where a tool spills or a reader is given', () => {
    const names = (options: Parameters<typeof agentOf>[0]) => agentOf(options).registry.tools.map(({ name }) => name)
    expect(names({ tools: [dump('x')] })).toEqual(['dump'])
    expect(names({ tools: [dump('x', spills)] })).toEqual(['dump', 'read_result'])
    expect(names({ resultReaders: { demo: () => '' } })).toEqual(['read_result'])
    expect(agentOf({ tools: [dump('x', spills)] }).registry.get('read_result')).toMatchObject({ effect: 'read' })
    expect(agentOf({ resultReaders: { demo: () => '' } }).registry.get('read_result')).toMatchObject({
      effect: 'egress',
    })
  })

  it('gets another name where a tool of the user has it, and none where only the first counts: then nothing is spilled', async () => {
    const taken = tool({ name: 'read_result', input: z.object({}), execute: () => 'mine' })
    const tools = [taken, dump(lines, spills)]
    const model = scriptedModel([
      { toolCalls: [{ name: 'dump' }] },
      (prompt) => ({
        toolCalls: [{ name: 'result-limits_read_result', input: { handle: handleIn(prompt), lines: { to: 1 } } }],
      }),
      { text: 'done' },
    ])
    const [[shown] = [], [slice] = []] = outputs(await agentOf({ model, tools }).run('go'))
    expect(shown).toContain('go on with result-limits_read_result({')
    expect(slice).toBe('line 1\n')
    const [[cut] = []] = outputs(await agentOf({ tools, toolCollisions: 'priority' }).run('go'))
    expect(cut).toContain('The rest was not kept: there is no tool to read it.]')
  })

  it('reads a result that is kept and given again, under a handle of its own', async () => {
    const kept = tool({
      name: 'dump',
      effect: 'read',
      input: z.object({}),
      cache: true,
      execute: () => lines,
      ...spills,
    })
    const model = scriptedModel([
      { toolCalls: [{ name: 'dump' }] },
      { toolCalls: [{ name: 'dump' }] },
      ({ messages }) => {
        const handles = [...JSON.stringify(messages).matchAll(/res_[\w-]{22}/g)].map(([handle]) => handle)
        return { toolCalls: [...new Set(handles)].map((handle) => read({ handle, lines: { from: 9, to: 9 } })) }
      },
      { text: 'done' },
    ])
    const result = await agentOf({ model, tools: [kept] }).run('go')
    expect(
      outputs(result)
        .slice(2)
        .map(([slice]) => slice),
    ).toEqual(['line 9\n', 'line 9\n'])
  })

  it('says what is wrong with a range', async () => {
    const model = reading((handle) => [
      read({ handle, bytes: { from: 5, to: 4 } }),
      read({ handle, lines: { from: 5, to: 4 } }),
      read({ handle, bytes: { from: 0 }, lines: { from: 1 } }),
      read({ handle, bytes: { from: -1 } }),
    ])
    const [, ...answers] = outputs(await agentOf({ model, tools: [dump(lines, spills)] }).run('go'))
    expect(answers.map(([answer]) => answer?.split('\n')[0])).toEqual([
      'There are no bytes from 5 to 4.',
      'There are no lines from 5 to 4.',
      'Both bytes and lines were given.',
      expect.stringContaining('bytes.from'),
    ])
  })

  it('has no way of its own: any hook or tool can keep bytes in the store', async () => {
    const store = memoryStore()
    const hashes: string[] = []
    const keep = tool({
      name: 'dump',
      input: z.object({}),
      async execute(_, ctx) {
        hashes.push(await ctx.putBlob(Buffer.from('from a tool')))
        return `${Buffer.from((await ctx.blob(hashes[0] ?? '')) ?? []).toString()} of ${ctx.session.id}`
      },
    })
    const hooks = extension('keep', {
      'tool.result': async (_, ctx) => void hashes.push(await ctx.putBlob(Buffer.from('from a hook'))),
    })
    const { sessionId, messages } = await agentOf({ store, tools: [keep], extensions: [hooks] }).run('go')
    expect(resultsIn(messages)[0]?.output).toEqual({ type: 'text', value: `from a tool of ${sessionId}` })
    expect(await Promise.all(hashes.map((hash) => store.blob(hash)))).not.toContain(undefined)
  })
})
