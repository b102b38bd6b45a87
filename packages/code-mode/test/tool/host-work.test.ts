import { createAgent } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import { defineExtension } from '@provost/core'
import { dataFlowPolicy } from '@provost/governance'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** A short script that sends eight texts of 1 MB. Each character normalises to eighteen. */
const source = "await Promise.all(Array(8).fill(0).map(() => tools.post({ body: '\\uFDFA'.repeat(349000) }))); return 1"

function agentThat(limits: { readonly hostBytes?: number; readonly logBytes?: number }, judged = (): void => {}) {
  const sent: number[] = []
  const post = tool({
    name: 'post',
    effect: 'egress',
    args: { body: 'content' },
    input: z.object({ body: z.string() }),
    execute({ body }) {
      sent.push(body.length)
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'code_execute', input: { source } }] }, { text: 'done' }])
  const first = defineExtension({
    name: 'first',
    hooks: {
      'tool.call'({ tool: { name } }) {
        if (name === 'post') judged()
      },
    },
  })
  const extensions = [codeMode(), first, dataFlowPolicy({ mode: 'enforce' })]
  return { agent: createAgent({ name: 'desk', model, tools: [post], extensions, ...limits }), sent }
}

test('a short script that sends large arguments does not block the event loop', async () => {
  let turns = 0
  let over = false
  const turn = (): void => {
    turns++
    if (!over) setImmediate(turn)
  }
  const { agent, sent } = agentThat({}, () => void (turns === 0 && turn()))
  const result = await agent.run('Post the notes')
  over = true
  expect(result.status).toBe('completed')
  expect(sent).toHaveLength(8)
  // From the check of the first text to the end. Unsliced, each text takes about one turn.
  expect(turns).toBeGreaterThan(30)
})

test.for([
  ['hostBytes', 'host-bytes-exceeded'],
  ['logBytes', 'log-bytes-exceeded'],
] as const)('a short script that sends more than %s ends its run', async ([limit, code]) => {
  const { agent, sent } = agentThat({ [limit]: 4_000_000 })
  const result = await agent.run('Post the notes')
  expect(result.status).toBe('failed')
  expect(result.error).toMatchObject({ code })
  expect(sent.length).toBeLessThan(4)
  assertWellFormed(result.messages)
})
