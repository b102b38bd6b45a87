import { readFileSync } from 'node:fs'

import { createAgent, RunState } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const key = 'a key of the fixtures'

function desk(stateKey?: string | Uint8Array) {
  const refund = tool({
    name: 'refund',
    input: z.object({ euros: z.number() }),
    needsApproval: () => ({ reason: 'money', sticky: 'session' }),
    execute: ({ euros }) => `refunded ${euros}`,
  })
  const steps = [{ text: 'Let me see.', toolCalls: [{ name: 'refund', input: { euros: 80 } }] }, { text: 'Done.' }]
  return (from = 0) =>
    createAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel(steps.slice(from)),
      tools: [refund],
      ...(stateKey !== undefined && { stateKey }),
    })
}

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), 'utf8')
const code = (expected: string) => expect.objectContaining({ code: expected })

describe('a run state that was written by', () => {
  test.each([
    ['version 1', 'run-state-v1', undefined],
    ['version 1, signed', 'run-state-v1-signed', key],
  ])('%s still reads, and its run goes on', async (_, name, stateKey) => {
    const agent = desk(stateKey)(1)
    const state = RunState.fromJSON(fixture(name), agent)
    const first = await agent.run(state)
    expect(first).toMatchObject({
      status: 'suspended',
      pending: { approvals: [{ toolName: 'refund', reason: 'money' }] },
    })
    const approve = ({ state: at, pending }: typeof first): ReturnType<typeof agent.run> =>
      agent.run(at, { approvals: [{ id: pending.approvals[0]?.id ?? '', decision: 'approve' }] })
    // That release did not write which definition the question was about: it is asked once more.
    const again = await approve(first)
    expect(again).toMatchObject({ status: 'suspended', pending: { approvals: [{ toolName: 'refund' }] } })
    expect(again.pending.approvals[0]?.definitionHash).toMatch(/^[0-9a-f]{64}$/)
    const last = await approve(again)
    expect(last).toMatchObject({ status: 'completed', text: 'Done.', runId: state.cursor.runId })
    expect(last.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })
})

describe('with a key, a state', () => {
  test('is signed, whatever order its keys are kept in', async () => {
    const agent = desk(key)()
    const { state } = await agent.run('Refund.')
    const sorted = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(sorted)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .toSorted(([a], [b]) => (a < b ? 1 : -1))
          .map(([k, v]) => [k, sorted(v)]),
      )
    }
    const json = JSON.stringify(sorted(JSON.parse(JSON.stringify(state))))
    expect(RunState.fromJSON(json, agent).sig).toBe(state.sig)
  })

  test.each<[string, (json: string) => string]>([
    ['changed arguments', (json) => json.replace('"euros": 80', '"euros": 8000')],
    ['another session', (json) => json.replace(/"sessionId": "[^"]*"/, '"sessionId": "mine"')],
    ['an extension left out', (json) => json.replace('"tools": [', '"more": [')],
    [
      'an entry more',
      (json) => json.replace('"entries": [', '"entries": [{ "id": "x", "offset": 0, "type": "memo" },'),
    ],
    ['no signature', (json) => json.replace(/"sig": "[^"]*",/, '')],
    ['an empty signature', (json) => json.replace(/"sig": "[^"]*"/, '"sig": ""')],
    ['another signature', (json) => json.replace(/"sig": "(.)/, '"sig": "B')],
  ])('with %s is refused', async (_, forge) => {
    const forged = forge(fixture('run-state-v1-signed'))
    expect(forged).not.toBe(fixture('run-state-v1-signed'))
    expect(() => RunState.fromJSON(forged, desk(key)())).toThrow(code('bad-signature'))
  })

  test('of another key is refused, and so is one that never went through fromJSON', async () => {
    const other = desk('another key, long enough')()
    expect(() => RunState.fromJSON(fixture('run-state-v1-signed'), other)).toThrow(code('bad-signature'))
    const forged = RunState.fromJSON(fixture('run-state-v1'), desk()())
    expect(await other.run(forged)).toMatchObject({ status: 'failed', error: { code: 'bad-signature' } })
  })

  test('that is nested without end is refused, not a crash', () => {
    const deep = fixture('run-state-v1-signed').replace(
      '"euros": 80',
      `"euros": ${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    )
    expect(() => RunState.fromJSON(deep, desk(key)())).toThrow(code('bad-signature'))
  })

  test('is not needed by an agent without one', () => {
    expect(RunState.fromJSON(fixture('run-state-v1-signed'), desk()())).toMatchObject({ agent: 'desk' })
  })

  test('a key that is no secret is refused', () => {
    expect(() => desk('short')()).toThrow(code('invalid-agent'))
    expect(() => desk(new Uint8Array(15))()).toThrow(code('invalid-agent'))
    expect(desk(new Uint8Array(16))().name).toBe('desk')
  })
})
