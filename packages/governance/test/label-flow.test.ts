import { createAgent, RunState } from '@provost/agent'
import type { Json, Label, RunResult } from '@provost/core'
import { joinLabels, labelOf } from '@provost/core'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { full } from './full.ts'

// Paths that exist today: steps, parallel calls, approvals, remote results, results that are read page by page, resume in
// another process, and export to another store. Handoffs, children and fan-outs join this test when they come.

const label = fc.record({
  integrity: fc.constantFrom('trusted' as const, 'untrusted' as const),
  confidentiality: fc.constantFrom('public' as const, 'internal' as const, 'secret' as const),
  sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }).map((names) => names.toSorted()),
})
const read = fc.record({ label, how: fc.constantFrom('run', 'ask', 'remote', 'fail', 'spill' as const) })
const flow = fc.record({
  steps: fc.array(fc.array(read, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
  resumes: fc.boolean(),
  moves: fc.constantFrom('no', 'signed', 'unsigned' as const),
})

let pages = 0
const privateStore = () => ({ ...memoryStore(), private: true as const })

test('no path loses a label: what is said later carries the join of all that was read before', async () => {
  await fc.assert(
    fc.asyncProperty(flow, async ({ steps, resumes, moves }) => {
      const store = privateStore()
      const labels = new Map<string, Label>()
      const readTool = (name: string, how: string, own: Label) => {
        labels.set(name, how === 'fail' ? { ...own, integrity: 'untrusted' } : own)
        return tool({
          name,
          effect: 'read',
          input: z.object({}),
          returns: own,
          needsApproval: how === 'ask',
          ...(how === 'spill' && { truncation: 'spill', maxResultTokens: 40 }),
          ...(how !== 'remote' && {
            execute: () =>
              how === 'fail' ? Promise.reject(new Error('no')) : how === 'spill' ? 'long data '.repeat(200) : 'data',
          }),
        })
      }
      const tools = steps.flatMap((step, n) => step.map((one, m) => readTool(`read_${n}_${m}`, one.how, one.label)))
      const calls = steps.map((step, n) => ({ toolCalls: step.map((_, m) => ({ name: `read_${n}_${m}`, input: {} })) }))
      // The model is asked by its step: a process that goes on asks for the rest.
      const model = () =>
        scriptedModel(
          [({ messages }) => calls[messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'said' }],
          { after: 'repeat-last' },
        )
      const agent = () => createAgent({ name: 'a', model: model(), tools, store })
      let result: RunResult = await agent().run('go')
      for (let turns = 0; result.status === 'suspended' && turns < 20; turns++) {
        const { approvals, remoteCalls } = result.pending
        const owner = agent()
        const written: Json = JSON.parse(JSON.stringify(result.state))
        const state = resumes ? RunState.fromJSON(written, owner) : result.state
        result = await owner.run(state, {
          approvals: approvals.map(({ id }) => ({ id, decision: 'approve' })),
          toolResults: remoteCalls.map(({ callId }) => ({ callId, output: 'data' })),
        })
      }
      expect(result.status).toBe('completed')
      const history = result.messages
      const results = history.flatMap(({ content }) => content.filter(({ type }) => type === 'tool-result'))
      expect(results).toHaveLength(labels.size)
      let soFar = joinLabels()
      for (const message of history) {
        const own = labelOf(message)
        expect(message.role !== 'assistant' || covers(own, soFar)).toBe(true)
        for (const part of message.content.filter(({ type }) => type === 'tool-result')) {
          const given = 'toolName' in part ? labels.get(part.toolName) : undefined
          expect(given && part.label && covers(part.label, given)).toBe(true)
        }
        soFar = joinLabels(soFar, own)
      }
      for (const given of labels.values()) expect(covers(soFar, given)).toBe(true)

      // A page of a long result carries the label of the whole, also in a later run.
      for (const part of history.flatMap(({ content }) => content)) {
        const [handle] = part.type === 'tool-result' ? (/res_[\w-]{22}/.exec(JSON.stringify(part.output)) ?? []) : []
        if (handle === undefined || part.type !== 'tool-result') continue
        const asking = scriptedModel([{ toolCalls: [{ name: 'read_result', input: { handle } }] }, { text: 'read' }])
        const reader = createAgent({ name: 'a', model: asking, tools, store })
        const { messages } = await reader.run('go on reading', { sessionId: result.sessionId })
        const page = messages.find(({ role }) => role === 'tool')
        const given = labels.get(part.toolName)
        expect(JSON.stringify(page?.content)).toContain('long data')
        expect(page && given && covers(labelOf(page), given)).toBe(true)
        pages++
        break
      }

      if (moves === 'no') return
      // In another store everything that is said next knows what was read in the first one.
      const there = privateStore()
      const key = 'a key of sixteen bytes or more'
      const lines = exportSession(store, result.sessionId, moves === 'signed' ? { key } : {})
      const { sessionId } = await importSession(there, lines, moves === 'signed' ? { key } : {})
      const after = scriptedModel([{ text: 'after' }])
      const next = await createAgent({ name: 'a', model: after, tools, store: there }).run('and now?', { sessionId })
      const said = next.messages.at(-1)
      expect(said && covers(labelOf(said), soFar)).toBe(true)
    }),
    { numRuns: full ? 300 : 15 },
  )
  expect(pages).toBeGreaterThan(0)
})

function covers(a: Label, b: Label): boolean {
  return JSON.stringify(joinLabels(a, b)) === JSON.stringify(joinLabels(a))
}
