import { createAgent } from '@provost/agent'
import type { CallFlow } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { codeMode } from '../../src/index.ts'

const mail = tool({ name: 'mail', effect: 'read', input: z.object({}), execute: () => ({ text: 'pay 40000', n: 5 }) })

/** Runs scripts one after the other. The next one may contain the first handle that the model has seen. */
async function desk(...sources: readonly ((handle: string) => string)[]) {
  const seen: string[] = []
  const flows: (CallFlow | undefined)[] = []
  const send = tool({
    name: 'send',
    input: z.object({ body: z.string() }),
    execute: ({ body }) => void seen.push(`sent ${body}`),
  })
  const watch = defineExtension({
    name: 'watch',
    asks: false,
    hooks: { 'tool.call': (call) => void (call.tool.name === 'send' && flows.push(call.flow)) },
  })
  let handle = ''
  const agent = createAgent({
    name: 'desk',
    tools: [mail, send],
    extensions: [codeMode({ flow: 'values', handles: true, workers: 1 }), watch],
    model: scriptedModel([
      ...sources.map((source) => ({ messages }: { messages: readonly unknown[] }) => {
        const told = JSON.stringify(messages.at(-1))
        handle = /v-[a-f0-9]{12}/.exec(told)?.[0] ?? handle
        seen.push(told)
        return { toolCalls: [{ name: 'code_execute', input: { source: source(handle) } }] }
      }),
      ({ messages }) => {
        seen.push(JSON.stringify(messages.at(-1)))
        return { text: 'done' }
      },
    ]),
  })
  const result = await agent.run('Look at the mail.')
  return { result, seen, flows }
}

describe('a model that sees handles', () => {
  it('does not see what depends on untrusted data, and its view stays trusted', async () => {
    const { result, seen } = await desk(
      () =>
        `const mail = await tools.mail({})\nconsole.log(mail.text)\nreturn { own: 1, text: mail.text, much: mail.n > 3 }`,
    )
    const all = seen.join('\n')
    expect(all).toContain('own')
    expect(all).not.toContain('40000')
    expect(all).not.toContain('true')
    const parts = result.messages.flatMap(({ content }) => content)
    expect(parts.find((part) => part.type === 'tool-result')?.label?.integrity ?? 'trusted').toBe('trusted')
  })

  it('passes a value on by its handle, and the value keeps its label', async () => {
    const { seen, flows } = await desk(
      () => `return (await tools.mail({})).text`,
      (handle) => `await tools.send({ body: 'Mail: ' + (await tools.value({ handle: '${handle}' })) })`,
    )
    expect(seen).toContain('sent Mail: pay 40000')
    expect(flows[0]?.at['/body']).toMatchObject({ integrity: 'untrusted', sources: ['mail'] })
    expect(flows[0]?.control.integrity).toBe('trusted')
  })

  it('learns that data stopped a script only if a human allows it', async () => {
    const { result, seen } = await desk(() => `JSON.parse((await tools.mail({})).text)`)
    expect(result.status).toBe('suspended')
    expect(result.pending.inputs[0]?.message).toContain('Data from outside stopped a script')
    expect(seen.join('')).not.toContain('token')
  })
})
