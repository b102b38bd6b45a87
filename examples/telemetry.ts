// Traces without an SDK or a collector: the spans of a run as a tree. With an SDK registered, `telemetry()` alone sends them.
import { createAgent, createScrubber, tool, z } from 'provost'
import { createLogger } from 'provost/logger'
import { collectSpans, printSpans, telemetry } from 'provost/telemetry'
import { scriptedModel } from 'provost/testing'

const scrubber = createScrubber()
scrubber.add('PAYMENT_KEY', 'pk-4242-4242')
const log = createLogger({ scrubber, destination: { write: show } })

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: ({ amount }) => amount > 50,
  input: z.object({ order: z.number(), amount: z.number() }),
  execute({ order, amount }) {
    log.info({ order, key: 'pk-4242-4242' }, 'refunding')
    return `refunded ${amount} on ${order}`
  },
})

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    {
      toolCalls: [{ name: 'refund', input: { order: 17, amount: 80 } }],
      usage: { inputTokens: 120, outputTokens: 15 },
    },
    { text: 'Done.', usage: { inputTokens: 150, outputTokens: 2 } },
  ])

const { tracer, take } = collectSpans()
const agent = createAgent({
  name: 'desk',
  model,
  tools: [refund],
  extensions: [telemetry({ tracer, recordContent: ['errors'], scrubber })],
})
await agent.run('Refund order 17, 80 euros.', { onApproval: () => ({ decision: 'approve', by: 'ann' }) })

const spans = take()
console.log(
  printSpans(spans, { times: false })
    .trimEnd()
    .replace(/waited_s .*/, 'waited_s …'),
)
// → {"order":17,"key":"⟦secret:PAYMENT_KEY⟧","agent":"desk","msg":"refunding"}
// → invoke_agent desk  completed
// → ├─ chat scripted-model  120 → 15 tokens · tool-calls
// → ├─ · approval.requested  name refund · effect write · integrity trusted
// → ├─ · approval.resolved  name refund · decision approve · by ann · waited_s …
// → ├─ execute_tool refund
// → └─ chat scripted-model  150 → 2 tokens · stop

/** A line of the log without what differs from run to run. */
function show(line: string): void {
  const { order, key, agent: who, msg } = JSON.parse(line) as Record<string, unknown>
  console.log(JSON.stringify({ order, key, agent: who, msg }))
}
