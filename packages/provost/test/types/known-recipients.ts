// Checked by the compiler alone: a policy as a user writes it, with nothing annotated.
import { argsByRole, createAgent, defineExtension, isCallTo, textOf, tool, z } from 'provost'
import type { Extension, JsonPointer } from 'provost'
import { expectTypeOf } from 'vitest'

export const knownRecipients = defineExtension({
  name: 'known-recipients',
  scope: 'tree',
  hooks: {
    'tool.call'(call, ctx) {
      const stranger = argsByRole(call, 'destination', 'attachment').find(
        ({ value }) => !ctx.intent.some((message) => textOf(message).includes(value)),
      )
      if (call.tool.effect !== 'egress' || !stranger) return undefined
      expectTypeOf(stranger.path).toEqualTypeOf<JsonPointer>()
      const { confidentiality, sources } = ctx.view.label
      if (confidentiality === 'secret') return { deny: `${stranger.value} may not receive secrets` }
      return { ask: { reason: `the user did not name ${stranger.value}`, evidence: { path: stranger.path, sources } } }
    },
  },
})
expectTypeOf(knownRecipients).toEqualTypeOf<Extension<unknown>>()

const send = tool({
  name: 'send',
  effect: 'egress',
  input: z.object({ to: z.array(z.string()), body: z.string() }),
  args: { '/to/0': 'destination', body: 'content' },
  execute: ({ to }) => to.length,
})

// A call narrowed to a tool of mine has its types.
export const fewRecipients = defineExtension({
  name: 'few-recipients',
  hooks: {
    'tool.call': (call) => {
      if (!isCallTo(call, send)) return undefined
      expectTypeOf(call.input.to).toExtend<readonly string[]>()
      return call.input.to.length > 5 ? { args: { ...call.input, to: call.input.to.slice(0, 5) } } : undefined
    },
  },
})

createAgent({ name: 'clerk', model: 'openai/gpt-5', tools: [send], extensions: [knownRecipients, fewRecipients] })
