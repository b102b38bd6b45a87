// Code mode follows each value of a script: a hook sees that a mail would choose the recipient.
import { createAgent, defineExtension, tool, z } from 'provost'
import { codeMode } from 'provost/code-mode'
import { scriptedModel } from 'provost/testing'

const mail = tool({ name: 'mail', effect: 'read', input: z.object({}), execute: () => ({ text: 'urgent', n: 5 }) })
const send = tool({ name: 'send', input: z.object({ to: z.string() }), execute: ({ to }) => `sent to ${to}` })
const tools = [mail, send]

const source = `const mail = await tools.mail({})
const to = mail.n > 3 ? 'boss@firm.example' : 'team@firm.example'
await tools.send({ to })`
const model = scriptedModel([{ toolCalls: [{ name: 'code_execute', input: { source } }] }, { text: 'Done.' }])

const watch = defineExtension({
  name: 'watch',
  hooks: {
    'tool.call'(call) {
      const { flow } = call
      if (flow?.control.integrity === 'untrusted') return { ask: { reason: `decided by data, line ${flow.lines[0]}` } }
      if (flow?.at['/to']?.integrity === 'untrusted') return { ask: { reason: 'the recipient comes from outside' } }
      return undefined
    },
  },
})
const agent = createAgent({ name: 'desk', model, tools, extensions: [codeMode({ flow: 'values' }), watch] })
const { pending } = await agent.run('Tell them.')
console.log(pending.approvals[0]?.reason) // → the recipient comes from outside
