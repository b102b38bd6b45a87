// Checked by the compiler alone: the shortest useful program.
import { createAgent, tool, z } from 'provost'
import type { Agent, AgentStream, PendingApproval, RunResult } from 'provost'
import { expectTypeOf } from 'vitest'

declare function askBoss(approval: PendingApproval): Promise<boolean>

const refund = tool({
  name: 'refund',
  effect: 'write',
  input: z.object({ order: z.string(), euros: z.number() }),
  needsApproval: ({ euros }) => euros > 50,
  execute: ({ order, euros }) => `${euros} on ${order}`,
})
const desk = createAgent({
  name: 'desk',
  instructions: 'Be kind.',
  model: 'anthropic/claude-sonnet-5',
  tools: [refund],
})
expectTypeOf(desk).toEqualTypeOf<Agent>()

export async function stream(): Promise<number | undefined> {
  const run = desk.stream('Refund 80 euros on order 17.', {
    onApproval: async (approval) => ((await askBoss(approval)) ? 'approve' : 'deny'),
  })
  expectTypeOf(run).toEqualTypeOf<AgentStream>()
  for await (const event of run) {
    if (event.type === 'text.delta') expectTypeOf(event.delta).toEqualTypeOf<string>()
    else if (event.type === 'agent.end') expectTypeOf(event.cost).toEqualTypeOf<number | undefined>()
  }
  return (await run.result).cost
}

// Whatever a run can be started with, and everything it can be told.
export async function inputs(signal: AbortSignal): Promise<void> {
  expectTypeOf(await desk.run('text')).toEqualTypeOf<RunResult>()
  await desk.run([{ type: 'text', text: 'parts' }])
  await desk.run([
    { role: 'user', content: 'messages of the AI SDK' },
    { role: 'assistant', content: [{ type: 'text', text: 'yes?' }] },
    { role: 'user', content: [{ type: 'file', data: new Uint8Array(1), mediaType: 'image/png' }] },
  ])
  const { messages, sessionId } = await desk.run('text', {
    sessionId: undefined,
    principal: { id: 'ann', roles: ['clerk'] },
    context: 'not declared',
    signal,
    model: { fast: 'openai/gpt-5.4-mini' },
    settings: { temperature: 0, toolChoice: { tool: 'refund' }, providerOptions: { openai: { store: false } } },
    maxSteps: 3,
    getSteering: () => [],
    getFollowUp: async () => ['and then?'],
  })
  const run = desk.stream(messages, { sessionId })
  run.steer('Wait.')
  run.followUp([{ type: 'text', text: 'Go on.' }])
  await run.resolve({ approvals: [{ id: 'token', decision: 'deny', by: 'ann' }] })
  await run.abort({ drain: true, graceMs: 100, onPendingApprovals: 'hold' })
  await desk.abort()
}
