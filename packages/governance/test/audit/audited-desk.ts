import { createAgent } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { ApprovalDecision, Entry, Extension, SessionStore } from '@provost/core'
import { approvalPolicy, auditLog, dataFlowPolicy } from '@provost/governance'
import { exportSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

export const key = 'the key of the audit'

/** One line of an export. */
export type Line = Readonly<Record<string, unknown>> & { readonly type: string; readonly entry?: Entry }

/** Sends mail. A mail to bob needs approval; one to eve is denied. */
const send = tool({
  name: 'send',
  effect: 'egress',
  input: z.object({ to: z.string(), pin: z.string() }),
  needsApproval: ({ to }) => to === 'bob' && { reason: 'bob is new', sticky: 'session', expiresInMs: 60_000 },
  execute: ({ to }) => `sent to ${to}`,
})
const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })

const mail = (to: string): { name: string; input: unknown } => ({ name: 'send', input: { to, pin: 'pin 4711' } })

/** Answers by what was said, so that another process can resume. */
const following = (steps: readonly ScriptedStep[]): ReturnType<typeof scriptedModel> =>
  scriptedModel(
    [
      ({ messages }: ScriptedPrompt): ScriptedStep =>
        steps[messages.filter(({ role }) => role === 'assistant').length % steps.length] ?? {},
    ],
    { after: 'repeat-last' },
  )

/** Returns a desk that sends to ann, to bob after an approval, to eve in vain, and to zoe through a child. */
export function desk(store: SessionStore, extensions: readonly Extension[] = [auditLog({ key })]): Agent {
  const helper = createAgent({
    name: 'helper',
    model: following([{ toolCalls: [mail('zoe')] }, { text: 'sent' }]),
    tools: [send],
  })
  return createAgent({
    name: 'desk',
    model: following([
      { toolCalls: [mail('ann'), { name: 'look', input: {} }] },
      { toolCalls: [mail('bob')] },
      { toolCalls: [mail('eve')] },
      { toolCalls: [{ name: 'helper', input: { task: 'Send to zoe.' } }] },
      { text: 'Done.' },
    ]),
    tools: [send, look, helper.toTool({ name: 'helper', description: 'Sends to zoe.' })],
    extensions: [
      dataFlowPolicy({ mode: 'shadow' }),
      approvalPolicy(({ input }) => (JSON.stringify(input).includes('eve') ? 'deny' : 'allow')),
      ...extensions,
    ],
    store,
  })
}

/** Runs the desk: ann approves the mail to bob, with another PIN. Returns the lines of the export. */
export async function auditedLines(extensions?: readonly Extension[], store = memoryStore()): Promise<readonly Line[]> {
  const { sessionId } = await runDesk(desk(store, extensions))
  return exportedLines(store, sessionId)
}

type ApprovalAnswer = Omit<ApprovalDecision, 'id'>

/** Runs the desk once. */
export function runDesk(agent: Agent, sessionId?: string): Promise<{ readonly sessionId: string }> {
  const onApproval = (): ApprovalAnswer => ({
    decision: 'approve',
    by: 'ann',
    sticky: 'session',
    args: { to: 'bob', pin: 'pin 0815' },
  })
  return agent.run('Send the PIN to ann, bob, eve and zoe.', {
    onApproval,
    ...(sessionId !== undefined && { sessionId }),
  })
}

export async function exportedLines(store: SessionStore, sessionId: string): Promise<readonly Line[]> {
  const lines: Line[] = []
  for await (const line of exportSession(store, sessionId)) lines.push(JSON.parse(line))
  return lines
}

export const textOfLines = (lines: readonly object[]): string => lines.map((line) => JSON.stringify(line)).join('\n')
