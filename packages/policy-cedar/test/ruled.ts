import { createAgent } from '@provost/agent'
import type { AgentEvent, EventOf, Extension, SessionStore, Tool } from '@provost/core'
import { dataFlowPolicy } from '@provost/governance'
import type { DataFlowRule } from '@provost/governance'
import { cedarRule } from '@provost/policy-cedar'
import type { CedarRuleOptions } from '@provost/policy-cedar'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

export const permit = '@id("default") permit (principal, action, resource);\n'

export const refund: Tool = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ customer: z.string(), cents: z.int() }),
  args: { customer: 'selector', cents: 'amount' },
  returns: { integrity: 'trusted' },
  execute({ customer, cents }) {
    if (customer === 'nobody') throw new Error('There is no such customer.')
    return `refunded ${cents}`
  },
})
export const sendEmail: Tool = tool({
  name: 'send_email',
  effect: 'egress',
  input: z.object({ to: z.array(z.string()), body: z.string() }),
  args: { to: 'destination', body: 'content' },
  returns: { integrity: 'trusted' },
  execute: ({ to }) => `sent to ${to.join()}`,
})

export const refundOf = (cents: number, customer = 'ann') => ({ name: 'refund', input: { customer, cents } })
export const mailTo = (...to: string[]) => ({ name: 'send_email', input: { to, body: 'Hi.' } })

export interface Call {
  readonly name: string
  readonly input: unknown
}

type Row = EventOf<'governance.flagged' | 'governance.blocked' | 'governance.declassified'>

/** What became of the calls of a run. */
export interface Outcome {
  /** By call: `ran`, `asked` or `denied`. */
  readonly calls: readonly string[]
  readonly rows: readonly Row[]
  /** What the model read of calls that did not run. */
  readonly told: readonly string[]
}

export interface RuledOptions extends Partial<Omit<CedarRuleOptions, 'tools'>> {
  readonly tools?: readonly Tool[]
  readonly answer?: 'approve' | 'deny'
  readonly others?: readonly DataFlowRule[]
  readonly extensions?: readonly Extension[]
  readonly store?: SessionStore
  readonly session?: string
}

/** Runs calls, one a step, under a policy. A list of calls is one step. */
export async function runUnder(
  policy: string,
  calls: readonly (Call | readonly Call[])[],
  options: RuledOptions = {},
): Promise<Outcome> {
  const { answer = 'deny', others = [], extensions = [], store = memoryStore(), session, ...cedar } = options
  const tools = cedar.tools ?? [refund, sendEmail]
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      ...calls.map((call) => ({ toolCalls: Array.isArray(call) ? call : [call] })),
      { text: 'Done.' },
    ]),
    tools,
    extensions: [
      dataFlowPolicy({ mode: 'enforce', rules: [cedarRule({ tools, ...cedar, policy }), ...others] }),
      ...extensions,
    ],
    store,
  })
  const ask = { onApproval: () => answer }
  const stream = agent.stream('Go.', { ...ask, ...(session !== undefined && { sessionId: session }) })
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  const rows = events.filter(
    (event): event is Row =>
      event.type === 'governance.flagged' ||
      event.type === 'governance.blocked' ||
      event.type === 'governance.declassified',
  )
  const asked = new Set(events.flatMap((event) => (event.type === 'tool.approval.requested' ? [event.callId] : [])))
  const planned = events.flatMap((event) => (event.type === 'tool.call.end' ? [event.callId] : []))
  const blocked = new Set(rows.flatMap((row) => (row.type === 'governance.blocked' ? [row.callId] : [])))
  const errors = events.flatMap((event) => (event.type === 'tool.execute.error' ? [event] : []))
  return {
    calls: planned.map((id) => (blocked.has(id) ? 'denied' : asked.has(id) ? 'asked' : 'ran')),
    rows,
    told: errors.map(({ error }) => error.message),
  }
}
