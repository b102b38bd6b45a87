import { createAgent } from '@provost/agent'
import type { ToolResult } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { extension } from '../hooks/hook-scenario.ts'
import { agentOf, dump, outputs, resultsIn } from './result-scenario.ts'

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')

describe('a result that is too long', () => {
  it('keeps its beginning, and the model is told what it lost', async () => {
    const text = words(5_000)
    const [[shown = ''] = []] = outputs(await agentOf({ tools: [dump(text, { maxResultTokens: 200 })] }).run('go'))
    const [kept = '', note] = shown.split('\n')
    expect(text.startsWith(kept)).toBe(true)
    expect(kept.length).toBeGreaterThan(200)
    expect(note).toBe(`[Cut here: ${kept.length} of ${text.length} characters are shown.]`)
  })

  it('loses its middle where the tool says so', async () => {
    const text = words(5_000)
    const tools = [dump(text, { maxResultTokens: 200, truncation: 'middle' })]
    const [[shown = ''] = []] = outputs(await agentOf({ tools }).run('go'))
    const [head = '', note, tail = ''] = shown.split('\n')
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true)
    expect(Math.min(head.length, tail.length)).toBeGreaterThan(150)
    const missing = text.length - head.length - tail.length
    expect(note).toBe(`[${missing} of ${text.length} characters are left out here.]`)
  })

  it('is cut at 16,384 tokens unless its tool says otherwise', async () => {
    const short = words(5_000)
    const long = words(40_000)
    expect(outputs(await agentOf({ tools: [dump(short)] }).run('go'))).toEqual([[short]])
    const [[shown = ''] = []] = outputs(await agentOf({ tools: [dump(long)] }).run('go'))
    expect(shown.length).toBeLessThan(long.length / 2)
    expect(shown).toContain('[Cut here: ')
  })

  it('is cut as the JSON that it is', async () => {
    const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `row ${id}` }))
    const result = await agentOf({ tools: [dump(rows, { maxResultTokens: 100 })] }).run('go')
    const [part] = resultsIn(result.messages)
    expect(part?.output.type).toBe('text')
    expect(outputs(result)[0]?.[0]).toMatch(
      /^\[\{"id":0,"name":"row 0"\}.*\n\[Cut here: \d+ of \d+ characters are shown\.\]$/,
    )
  })

  it('keeps its files, which are not cut, but no more than a request can have', async () => {
    const file = (bytes: number, filename: string) => ({
      type: 'file' as const,
      mediaType: 'image/png',
      filename,
      data: { type: 'data' as const, data: 'A'.repeat(bytes) },
    })
    const content = [
      { type: 'text' as const, text: words(500) },
      file(100, 'small.png'),
      { type: 'text' as const, text: words(500) },
      file(45_000_000, 'huge.png'),
    ]
    const tools = [dump(rich(1, { content }), { maxResultTokens: 100 })]
    const [texts] = outputs(await agentOf({ tools }).run('go'))
    expect(texts).toEqual([expect.stringMatching(/^word0 .*\n\[Cut here: /), '<file>'])
    const whole = outputs(await agentOf({ tools: [dump(rich(1, { content: content.slice(1, 2) }))] }).run('go'))
    expect(whole).toEqual([['<file>']])
    const [left] = outputs(await agentOf({ tools: [dump(rich(1, { content: content.slice(3) }))] }).run('go'))
    expect(left).toEqual([expect.stringMatching(/^\[A file "huge.png" of type image\/png and \d+ bytes was left out/)])
  })

  it('is seen whole by the hooks of others, and cut behind them', async () => {
    const seen: ToolResult[] = []
    const text = words(2_000)
    const agent = agentOf({
      tools: [dump('short', { maxResultTokens: 100 })],
      extensions: [
        extension('grow', { 'tool.result': (result) => ({ ...result, output: { type: 'text', value: text } }) }),
        extension('look', { 'tool.result': (result) => void seen.push(result) }),
      ],
    })
    const [[shown = ''] = []] = outputs(await agent.run('go'))
    expect(seen.map(({ output }) => output)).toEqual([{ type: 'text', value: text }])
    expect(shown).toContain('[Cut here: ')
  })

  it('has the strictest label of all its fields once they are lost in a text', async () => {
    const row = { id: 7, note: words(500) }
    const fields = { '/note': { confidentiality: 'secret', sources: ['vault'] } } as const
    const labelled = (maxResultTokens: number) => agentOf({ tools: [dump(rich(row, { fields }), { maxResultTokens })] })
    const [whole] = resultsIn((await labelled(10_000).run('go')).messages)
    expect(whole).toMatchObject({ fields: { '/note': { confidentiality: 'secret' } } })
    const result = await labelled(100).run('go')
    const [part] = resultsIn(result.messages)
    expect(part).not.toHaveProperty('fields')
    const message = result.messages.find(({ role }) => role === 'tool')
    expect(part?.label ?? message?.label).toEqual({
      integrity: 'untrusted',
      confidentiality: 'secret',
      sources: ['dump', 'vault'],
    })
  })

  it('is cut also when it is an error, or came from elsewhere', async () => {
    const fails = tool({
      name: 'dump',
      input: z.object({}),
      maxResultTokens: 50,
      truncation: 'spill',
      execute: (): string => {
        throw new Error(words(300))
      },
    })
    expect(outputs(await agentOf({ tools: [fails] }).run('go'))).toEqual([
      [expect.stringMatching(/^word0 .*\n\[Cut here: /)],
    ])
    const answered = agentOf({
      tools: [dump('never run', { maxResultTokens: 50 })],
      extensions: [extension('answer', { 'tool.call': () => ({ result: words(300), label: {} }) })],
    })
    expect(outputs(await answered.run('go'))).toEqual([[expect.stringContaining('[Cut here: ')]])
  })

  it('never splits a character, and nothing that is short is touched', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ß', '語', '😀', '\n', ' ', '.'), maxLength: 400 })
    const options = fc.record({
      maxResultTokens: fc.integer({ min: 1, max: 60 }),
      truncation: fc.constantFrom('head' as const, 'middle' as const),
    })
    const property = fc.asyncProperty(text, options, async (value, limit) => {
      const [[shown = ''] = []] = outputs(await agentOf({ tools: [dump(value, limit)] }).run('go'))
      expect(shown.isWellFormed()).toBe(true)
      if (shown === value) return
      const [head = '', tail = ''] = shown.split(/\n\[(?:Cut here|\d+ of \d+ characters are left out).*\]\n?/)
      expect(value.startsWith(head) && value.endsWith(tail)).toBe(true)
      expect(head.length + tail.length).toBeLessThan(value.length)
    })
    // Its halves are estimated at less than the whole.
    const examples: [string, { maxResultTokens: number; truncation: 'head' | 'middle' }][] = [
      ['語aaa', { maxResultTokens: 3, truncation: 'middle' }],
    ]
    await fc.assert(property, { examples })
  })

  it('is cut without being read to its end, also 16 MB of blanks', async () => {
    const [[shown = ''] = []] = outputs(await agentOf({ tools: [dump(' '.repeat(16_000_000))] }).run('go'))
    expect(shown.length).toBeLessThan(300_000)
  })
})

describe('limits that make no sense', () => {
  it.each([
    [{ maxResultTokens: 0 }, 'maxResultTokens is 0'],
    [{ maxResultTokens: Number.NaN }, 'maxResultTokens is NaN'],
    [JSON.parse('{"truncation":"tail"}'), 'truncation is "tail"'],
  ])('%j is refused', (options, message) => {
    expect(() => dump('x', options)).toThrow(message)
  })

  it('an agent without tools has no extension it does not need', () => {
    const agent = createAgent({ name: 'a', model: scriptedModel([{ text: 'hi' }]), store: memoryStore() })
    expect(agent.registry.tools).toEqual([])
  })
})
