// Checked by the compiler alone: results, their outputs, and runs that are resumed.
import { type } from 'arktype'
import { createAgent, RunState, z } from 'provost'
import type { Agent, ProvostError, RunResult, RunStatus } from 'provost'
import { scriptedModel } from 'provost/testing'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'

const model = scriptedModel(
  [
    { text: ['{ "city":', '"Ulm" }'] },
    ({ tools, messages }, index) => ({ text: `${tools.length + messages.length + index}` }),
  ],
  { after: 'error', provider: 'anthropic', modelId: 'claude-sonnet-5' },
)
const byZod = createAgent({ name: 'geo', model, output: z.object({ city: z.string(), people: z.number().optional() }) })
const byValibot = createAgent({ name: 'geo', model, output: v.object({ city: v.string() }) })
const byArktype = createAgent({ name: 'geo', model, output: type({ city: 'string' }) })
expectTypeOf(byZod).toEqualTypeOf<Agent<{ city: string; people?: number | undefined }>>()
expectTypeOf(byValibot).toEqualTypeOf<Agent<{ city: string }>>()
expectTypeOf(byArktype).toEqualTypeOf<Agent<{ city: string }>>()
// What validation gives, not what the model writes.
const transformed = createAgent({
  name: 'when',
  model,
  output: z.object({ at: z.string().transform((at) => new Date(at)) }),
})
expectTypeOf(transformed).toEqualTypeOf<Agent<{ at: Date }>>()

export async function narrowed(): Promise<void> {
  const result = await byZod.run('Where?')
  switch (result.status) {
    case 'completed':
      expectTypeOf(result.output.city).toEqualTypeOf<string>()
      expectTypeOf(result.error).toEqualTypeOf<undefined>()
      break
    case 'failed':
      expectTypeOf(result.error).toEqualTypeOf<ProvostError>()
      expectTypeOf(result.output).toEqualTypeOf<undefined>()
      break
    default:
      expectTypeOf(result.status).toEqualTypeOf<'suspended' | 'aborted'>()
      expectTypeOf(result.output).toEqualTypeOf<undefined>()
  }
  expectTypeOf(result.status).toEqualTypeOf<RunStatus>()
  expectTypeOf(await byZod.stream('Where?').output).toEqualTypeOf<{ city: string; people?: number | undefined }>()

  const plain = createAgent({
    name: 'plain',
    model: process.env['MODEL'] ?? { fast: 'openai/gpt-5.4-mini', smart: model },
  })
  expectTypeOf(await plain.stream('Hi').output).toEqualTypeOf<string>()
}

// Decided later and elsewhere.
export async function resumed({
  state,
  pending,
}: RunResult<{ city: string; people?: number | undefined }>): Promise<void> {
  const read = RunState.fromJSON(JSON.parse(JSON.stringify(state)), byZod)
  const decisions = {
    approvals: pending.approvals.map(({ id, toolName }) => {
      const decision = toolName === 'refund' ? ('approve' as const) : ('deny' as const)
      return { id, decision, by: 'ann', args: { euros: 20 }, sticky: 'session' as const }
    }),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: { lat: 1 } })),
    uncertain: pending.uncertain.map(({ callId }) => ({ callId, decision: 'done' as const, output: 'sent' })),
    inputs: pending.inputs.map(({ id }) => ({ id, value: true })),
  }
  const result = await byZod.run(read, decisions)
  if (result.status === 'completed') expectTypeOf(result.output.people).toEqualTypeOf<number | undefined>()
  for await (const event of byZod.stream(read, { ...decisions, signal: AbortSignal.timeout(1000) })) {
    expectTypeOf(event.seq).toEqualTypeOf<number>()
  }
  // The result's own state does as well as one that was read.
  await byZod.run(state, decisions)
}
