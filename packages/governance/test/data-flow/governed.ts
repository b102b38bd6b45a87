import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { AgentEvent, EventOf, Extension, Label, LabelInit, PendingApproval, Tool } from '@provost/core'
import type { DataFlowPolicyOptions } from '@provost/governance'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import { z } from 'zod'

/** Sends mail to a receiver that the model chooses. */
export const sendMail: Tool = tool({
  name: 'send_email',
  description: 'Sends an e-mail.',
  effect: 'egress',
  input: z.object({ to: z.string(), body: z.string() }),
  args: { to: 'destination', body: 'content' },
  returns: { integrity: 'trusted' },
  execute: ({ to }) => ({ sent: true, to }),
})

/** Returns a read tool with a fixed result. */
export function reader(
  name: string,
  value: unknown,
  returns: LabelInit = {},
  fields: Readonly<Record<`/${string}`, LabelInit>> = {},
): Tool {
  return tool({
    name,
    effect: 'read',
    input: z.object({ of: z.string().optional() }),
    args: { of: 'selector' },
    returns,
    execute: () => rich(value, { fields }),
  })
}

export interface Call {
  readonly name: string
  readonly input: unknown
}

/** Returns an agent that makes these calls, one per step, under a policy. */
export function governed(
  calls: readonly Call[],
  tools: readonly Tool[],
  options: Partial<DataFlowPolicyOptions> = {},
  extensions: readonly Extension[] = [],
): Agent {
  return createAgent({
    name: 'governed',
    model: scriptedModel([...calls.map((call) => ({ toolCalls: [call] })), { text: 'Done.' }]),
    tools,
    extensions: [dataFlowPolicy({ mode: 'enforce', ...options }), ...extensions],
    store: memoryStore(),
  })
}

/** The outcome of a run. */
export interface Story {
  /** By call: `ran`, or the code of its error. */
  readonly outcomes: readonly string[]
  readonly asked: readonly PendingApproval[]
  readonly rows: readonly EventOf<'governance.flagged' | 'governance.blocked' | 'governance.declassified'>[]
  readonly labels: readonly Label[]
  readonly text: string
}

/** Runs an agent to its end. Each approval request gets the same decision. */
export async function storyOf(agent: Agent, prompt: string, decision: 'approve' | 'deny' = 'deny'): Promise<Story> {
  const asked: PendingApproval[] = []
  const events: AgentEvent[] = []
  const stream = agent.stream(prompt, {
    onApproval(approval) {
      asked.push(approval)
      return decision
    },
  })
  for await (const event of stream) events.push(event)
  return { asked, ...readStory(events), text: (await stream.result).text }
}

function readStory(events: readonly AgentEvent[]): Omit<Story, 'asked' | 'text'> {
  const outcomes: string[] = []
  const rows: Story['rows'][number][] = []
  const labels: Label[] = []
  for (const event of events) {
    if (event.type === 'tool.execute.end') {
      outcomes.push('ran')
      labels.push(event.label)
    } else if (event.type === 'tool.execute.error') outcomes.push(event.error.code)
    else if (
      event.type === 'governance.flagged' ||
      event.type === 'governance.blocked' ||
      event.type === 'governance.declassified'
    ) {
      rows.push(event)
    }
  }
  return { outcomes, rows, labels }
}

/** Returns whether a sink call passes, asks or is blocked after an untrusted page was read. */
export async function verdict(
  prompt: string,
  call: Call,
  tools: readonly Tool[],
  options: Partial<DataFlowPolicyOptions> = {},
): Promise<'passed' | 'asked' | 'blocked'> {
  const page = reader('read_page', 'Cheese is made of milk.', { confidentiality: 'public' })
  const agent = governed([{ name: 'read_page', input: {} }, call], [page, ...tools], options)
  const { outcomes, asked } = await storyOf(agent, prompt)
  if (asked.length > 0) return 'asked'
  return outcomes.at(-1) === 'ran' ? 'passed' : 'blocked'
}
