import type { Json, ToolQuestion } from '@provost/core'
import { ProvostError } from '@provost/core'
import type { McpTools } from '@provost/tools'
import { beforeAll, describe, expect, test } from 'vitest'

import { seen } from '../executor/call.ts'
import { callTo, connected, fake } from './connect.ts'
import { definition, httpServer, json } from './http-server.ts'

const object = { type: 'object' as const }

describe('an elicitation of an MCP server', () => {
  let server: McpTools
  beforeAll(async () => {
    const { mcpTools } = await import('@provost/tools')
    server = await mcpTools({ name: 'fake', transport: fake() })
    return () => server.close()
  })
  const answering = (...answers: Json[]) => {
    const asked: ToolQuestion[] = []
    const ask = async (question: ToolQuestion): Promise<Json> => {
      asked.push(question)
      return answers[asked.length - 1] ?? null
    }
    return { ask, asked }
  }

  test('reaches the handler with the name of the server and the schema, and its response goes back', async () => {
    const { ask, asked } = answering({ key: 'k' })
    expect(seen(await callTo(server, 'ask', {}, { ask }))).toBe('got {"action":"accept","content":{"key":"k"}}')
    expect(asked).toMatchObject([
      { message: 'The MCP server fake asks: Your API key?', schema: { properties: { key: { type: 'string' } } } },
    ])
  })

  test('is declined by null, and the model receives the reason', async () => {
    const { outcome, error } = await callTo(server, 'ask', {}, answering(null))
    expect(outcome).toBe('error')
    expect(error).toMatchObject({
      message: 'got {"action":"decline"}',
      hint: expect.stringContaining('declined'),
    })
  })

  test('is repeated with the reason until the response is valid, at most three times', async () => {
    const good = answering({ key: 1 }, 'k', { key: 'k' })
    expect(seen(await callTo(server, 'ask', {}, good))).toContain('"accept"')
    expect(good.asked.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^The MCP server/),
      expect.stringMatching(/^The last answer does not fit: key: .*The MCP server fake asks/),
      expect.stringMatching(/^The last answer does not fit: /),
    ])
    const bad = answering(1, 2, 3, { key: 'k' })
    expect((await callTo(server, 'ask', {}, bad)).error?.message).toBe('got {"action":"cancel"}')
    expect(bad.asked).toHaveLength(3)
  })

  test('is cancelled after its time-out, and the model receives the reason', async () => {
    const ask = () => Promise.reject(new ProvostError('input-expired', 'late'))
    const { error } = await callTo(server, 'ask', {}, { ask })
    expect(error).toMatchObject({
      message: 'got {"action":"cancel"}',
      hint: expect.stringContaining('no answer in time'),
    })
  })

  test('ends before its call, so that the server can return a result', async () => {
    let left = 0
    const ask = async (_: ToolQuestion, { withinMs }: { readonly withinMs: number }): Promise<Json> => {
      left = withinMs
      return null
    }
    await callTo(server, 'ask', {}, { ask })
    expect(left).toBeLessThanOrEqual(55_000)
    expect(left).toBeGreaterThan(0)
  })

  test('is cancelled during several running calls if the server cannot name the call', async () => {
    const first = answering({ key: 'a' })
    const second = answering({ key: 'b' })
    const outcomes = await Promise.all([callTo(server, 'ask', {}, first), callTo(server, 'ask', {}, second)])
    expect([...first.asked, ...second.asked]).toEqual([])
    expect(outcomes.map(({ error }) => error?.hint)).toEqual([
      expect.stringContaining('one at a time'),
      expect.stringContaining('one at a time'),
    ])
  })

  test('is refused with elicitation: refuse, which the server learns at the start', async () => {
    const closed = await connected({ transport: fake(), elicitation: 'refuse' })
    const { ask, asked } = answering({ key: 'k' })
    expect((await callTo(closed, 'ask', {}, { ask })).error?.hint).toContain('which is refused')
    expect(asked).toEqual([])
  })

  test('belongs to its call in the stateless protocol, whatever else runs', async () => {
    const { transport } = await httpServer([definition('act')], ({ id, method, params }, response) => {
      const said = JSON.stringify(params)
      const inputRequests = {
        key: {
          method: 'elicitation/create',
          params: { message: `Key of ${/"n":"(.)"/.exec(said)?.[1]}?`, requestedSchema: object },
        },
      }
      const call = said.includes('inputResponses')
        ? { content: [{ type: 'text', text: /"content":(\{[^}]*\})/.exec(said)?.[1] }], resultType: 'complete' }
        : { resultType: 'input_required', inputRequests }
      const results: Record<string, object> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, resultType: 'complete' },
        'tools/list': { tools: [definition('act')], resultType: 'complete' },
        'tools/call': call,
      }
      json(response, { id, result: results[method] })
      return true
    })
    const connection = await connected({ transport })
    const people = ['a', 'b', 'c'].map((n) => ({ n, ...answering({ key: n }) }))
    const outcomes = await Promise.all(people.map(({ n, ask }) => callTo(connection, 'act', { n }, { ask })))
    expect(outcomes.map(seen)).toEqual(['{"key":"a"}', '{"key":"b"}', '{"key":"c"}'])
    expect(people.map(({ asked }) => asked[0]?.message)).toEqual(
      ['a', 'b', 'c'].map((n) => `The MCP server fake asks: Key of ${n}?`),
    )
  })
})
