import { createAgent, RunState } from '@provost/agent'
import type { Json, Label, RunResult } from '@provost/core'
import { joinLabels, labelOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

// Paths that exist today: steps, parallel calls, approvals, remote results, and
// resume in another process. Handoffs, children and fan-outs join this test when they come.

const label = fc.record({
  integrity: fc.constantFrom('trusted' as const, 'untrusted' as const),
  confidentiality: fc.constantFrom('public' as const, 'internal' as const, 'secret' as const),
  sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }).map((names) => names.toSorted()),
})
const read = fc.record({ label, how: fc.constantFrom('run', 'ask', 'remote', 'fail' as const) })
const flow = fc.record({
  steps: fc.array(fc.array(read, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
  resumes: fc.boolean(),
})

test('no path loses a label: what is said later carries the join of all that was read before', async () => {
  await fc.assert(
    fc.asyncProperty(flow, async ({ steps, resumes }) => {
      const store = memoryStore()
      const labels = new Map<string, Label>()
      const readTool = (name: string, how: string, own: Label) => {
        labels.set(name, how === 'fail' ? { ...own, integrity: 'untrusted' } : own)
        return tool({
          name,
          effect: 'read',
          input: z.object({}),
          returns: own,
          needsApproval: how === 'ask',
          ...(how !== 'remote' && {
            execute: () => (how === 'fail' ? Promise.reject(new Error('no')) : 'data'),
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
    }),
    { numRuns: 40 },
  )
})

function covers(a: Label, b: Label): boolean {
  return JSON.stringify(joinLabels(a, b)) === JSON.stringify(joinLabels(a))
}
