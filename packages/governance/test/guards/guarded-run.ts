import { createAgent } from '@provost/agent'
import type { AgentEvent, Extension, GovernanceRow, InboundPolicy, RunResult } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

export interface Guarded {
  readonly result: RunResult
  /** The inputs that the tools received. */
  readonly ran: readonly unknown[]
  readonly prompts: readonly ScriptedPrompt[]
  readonly rows: readonly (GovernanceRow & { readonly type: string })[]
  /** Outputs of the calls as the model reads them. */
  readonly outputs: readonly unknown[]
}

/** Runs an agent that makes these calls, each in its own step. The tool `read` returns `page`. */
export async function guarded(
  extensions: readonly Extension<unknown>[],
  calls: readonly { readonly name: string; readonly input: object }[],
  page: { readonly value?: unknown; readonly sanitize?: boolean | InboundPolicy; readonly trusted?: boolean } = {},
): Promise<Guarded> {
  const ran: unknown[] = []
  const prompts: ScriptedPrompt[] = []
  const input = z.looseObject({})
  const record = (args: unknown) => {
    ran.push(args)
    return 'sent'
  }
  const { value = 'a page', sanitize, trusted } = page
  const read = tool({
    name: 'read',
    effect: 'read',
    input,
    execute: () => value,
    ...(sanitize !== undefined && { sanitize }),
    returns: trusted ? { integrity: 'trusted' } : {},
  })
  const tools = [
    read,
    tool({ name: 'send', effect: 'egress', input, execute: record }),
    tool({ name: 'post', effect: 'egress', input, execute: record }),
  ]
  const model = scriptedModel([
    ...calls.map((call) => (prompt: ScriptedPrompt) => {
      prompts.push(prompt)
      return { toolCalls: [call] }
    }),
    (prompt: ScriptedPrompt) => {
      prompts.push(prompt)
      return { text: 'done' }
    },
  ])
  const events: AgentEvent[] = []
  const stream = createAgent({ name: 'clerk', model, tools, extensions }).stream('go')
  for await (const event of stream) events.push(event)
  return {
    result: await stream.result,
    ran,
    prompts,
    rows: events.filter((event) => event.type === 'governance.flagged' || event.type === 'governance.blocked'),
    outputs: events.flatMap((event) =>
      event.type === 'message.end' && event.message.role === 'tool'
        ? event.message.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
        : [],
    ),
  }
}
