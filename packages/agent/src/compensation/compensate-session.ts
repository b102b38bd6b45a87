import type { Compensation, CompositeContext, ImpossibleEffect, UndoneEffect } from '@provost/core'
import { lazily } from '@provost/core'
import { endEffect } from '@provost/sessions'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { readLog } from '../log/log-snapshot.ts'
import { foldLog } from '../reducers/reducer.ts'
import { PendingInputError } from '../result/pending-input-error.ts'
import type { CompensationWork } from '../session/live-session.ts'
import { runStandalone } from '../standalone/run-standalone.ts'
import { compensationLog, compensationName, same } from './compensation-log.ts'
import type { CompensationPlan, PlannedUndo } from './plan-compensation.ts'
import { planCompensation, withoutTokens } from './plan-compensation.ts'
import { knownTools, undoName } from './undo-tool.ts'

/**
 * Undoes effects of a session, the last one first, after one approval. It runs as a composite with its own log: each undo
 * is a call with an effect key, so that it happens once. A compensation that was interrupted or waits is continued.
 */
export async function compensateSession(work: CompensationWork): Promise<Compensation> {
  const { session, agent, store, since, agents = [], signal, onApproval, decisions, principal, context } = work
  const known = knownTools([agent, ...agents.map(resolvedAgentOf)])
  const log = compensationLog(session.id)
  const { run } = foldLog(await readLog(store, log))
  const isOpen = run?.status === 'running' || run?.status === 'suspended'
  const plan = isOpen ? undefined : await planCompensation(store, session.id, log, known, since)
  if (plan?.effects.length === 0) return { status: 'completed', undone: [], impossible: plan.impossible }
  let undone: UndoneEffect[] = []
  let impossible: readonly ImpossibleEffect[] = []

  async function undoAll(ctx: CompositeContext): Promise<Compensation> {
    undone = []
    const made = await ctx.memo(
      'plan',
      async (): Promise<CompensationPlan> => plan ?? (await planCompensation(store, session.id, log, known, since)),
    )
    impossible = made.impossible
    const asked = await ctx.call(approval(), { effects: made.effects.map(shown) }, { key: 'approval' })
    if (asked.outcome !== 'ok') return { status: 'denied', undone, impossible, reason: reasonOf(asked) }
    const approved = new Set(asked.value)
    for (const [index, planned] of made.effects.entries()) {
      const { effect, callId, toolName } = planned
      const failed = approved.has(effect) ? await undo(ctx, planned, `undo ${index + 1}`) : struck
      if (failed === undefined) undone.push({ callId, toolName })
      else impossible = [...impossible, { callId, toolName, ...failed }]
    }
    return { status: 'completed', undone, impossible }
  }

  /** Returns why an effect could not be undone; undefined if it was. */
  async function undo(ctx: CompositeContext, planned: PlannedUndo, key: string): Promise<Failure | undefined> {
    const { effect, agent: of, toolName, input, output, ledger } = planned
    const result = await ctx.call(undoName(of, toolName), { effect, input, output }, { key })
    const { outcome, error } = result
    if (outcome !== 'ok') return { reason: reasonOf(result), ...(error && { error }) }
    if (ledger) await endEffect(store, ledger, ledger, 'compensated', { by: compensationName })
    return undefined
  }

  try {
    return await runStandalone<Compensation>(
      {
        name: compensationName,
        agent: agent.options,
        tools: [approval(), ...known.undoing],
        store,
        within: { session, same },
        signal,
        onApproval,
        decisions,
        principal,
        context,
      },
      undoAll,
    )
  } catch (thrown) {
    if (!(thrown instanceof PendingInputError)) throw thrown
    return { status: 'suspended', undone, impossible, pending: thrown.pending }
  }
}

type Failure = Pick<ImpossibleEffect, 'reason' | 'error'>

const struck: Failure = { reason: 'It was struck from the list before the approval.' }

type Row = Pick<PlannedUndo, 'effect' | 'callId' | 'toolName' | 'input' | 'output'>

function shown({ effect, callId, toolName, input, output }: PlannedUndo): Row {
  return { effect, callId, toolName, input: withoutTokens(input), output }
}

/** Asks a human about all effects at once. The human may strike effects from the list. */
const approval = lazily(() => {
  const row = z.object({
    effect: z.string(),
    callId: z.string(),
    toolName: z.string(),
    input: z.unknown(),
    output: z.unknown(),
  })
  return tool({
    name: 'approve_compensation',
    title: 'Undo effects',
    input: z.object({ effects: z.array(row) }),
    effect: 'none',
    needsApproval: ({ effects }) => ({ reason: `Undo ${effects.length} effects, the last one first?` }),
    execute: ({ effects }) => effects.map(({ effect }) => effect),
  })
})

function reasonOf({ outcome, error, output }: Awaited<ReturnType<CompositeContext['call']>>): string {
  const { reason = output.type } = output.type === 'execution-denied' ? output : {}
  return `The compensation ended as ${outcome}: ${error?.message ?? reason}`
}
