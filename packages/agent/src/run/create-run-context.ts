import { liveFields } from '@provost/core'
import type { SecretScope } from '@provost/tools'
import { childSecrets, createSlots } from '@provost/tools'

import { createActiveCalls } from '../composite/active-calls.ts'
import type { AbortControl } from '../control/abort-control.ts'
import { graceOf } from '../control/abort-control.ts'
import { activeAgent } from '../handoff/active-agent.ts'
import { hookContexts } from '../hooks/hook-context.ts'
import { observersOf } from '../hooks/observers.ts'
import { createContextSize } from '../prompt/context-size.ts'
import { minGrant, remaining, usageOfBudget } from '../tree/budget.ts'
import { createReservations, withoutReserved } from '../tree/reservations.ts'
import type { Observers } from '../types/hooks.ts'
import type { PendingInputs } from '../types/inputs.ts'
import type { LogWriter } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { Given } from '../types/session.ts'

/**
 * Creates the context shared by all handlers of a run.
 *
 * @param entry the agent with which runs of the session begin.
 */
export function createRunContext(
  entry: ResolvedAgent,
  given: Given,
  id: string,
  sessionId: string,
  journal: LogWriter,
  mailbox: PendingInputs,
  control: AbortControl,
  { hub, log, startRun, lineage, tree }: Pick<RunContext, 'hub' | 'log' | 'startRun' | 'lineage' | 'tree'>,
  secrets: SecretScope = entry.secrets,
): RunContext {
  const children: RunContext['children'] = new Map()
  const reservations = createReservations(journal.state)
  const fixed = {
    entry,
    id,
    sessionId,
    given,
    journal,
    state: journal.state,
    hub,
    log,
    startRun,
    lineage,
    children,
    tree,
    reservations,
    remaining() {
      if (!lineage) return undefined
      const left =
        lineage.grant &&
        withoutReserved(remaining(lineage.grant, usageOfBudget(journal.state.run, children)), reservations.total())
      return minGrant(left, lineage.remaining())
    },
    signal: control.controller.signal,
    prompts: new Map(),
    mailbox,
    inbox: undefined,
    asked: new Map(),
    offered: undefined,
    promoted: undefined,
    parsed: new Map(),
    live: createActiveCalls(),
    slots: createSlots(entry.maxParallelTools),
    instructions: activeAgent(entry, journal.state).instructions ?? '',
    prepared: undefined,
    hear() {},
    pendingPolicy: () => control.options.onPendingApprovals ?? 'deny',
    step: journal.state.run?.id === id ? journal.state.run.step : 0,
    attempt: 1,
    watched: false,
    questions: 0,
    audits: 0,
    generated: 0,
    asking: 0,
    trigger: 'step',
    request: {},
    claim: undefined,
    resumedFrom: undefined,
    spent: undefined,
    partial: undefined,
    contextFor: hookContexts(() => scope),
    hookTimes: new Map(),
    size: createContextSize(),
  } satisfies Omit<RunContext, keyof ActiveAgent>
  const scope: RunContext = ofActiveAgent(fixed, {
    entry,
    journal,
    control,
    secrets,
    handed: new Map(),
    watched: undefined,
  })
  return scope
}

type ActiveAgent = Pick<RunContext, 'plan' | 'watchers' | 'secrets' | 'graceMs'>

interface Entered {
  readonly entry: ResolvedAgent
  readonly journal: LogWriter
  readonly control: AbortControl
  readonly secrets: SecretScope
  /** Secrets of the targets of handoffs. Each target has its own; one scrubber hides all. */
  readonly handed: Map<ResolvedAgent, SecretScope>
  watched: { readonly plan: ResolvedAgent; readonly watchers: Observers } | undefined
}

const planOf = ({ entry, journal }: Entered): ResolvedAgent => activeAgent(entry, journal.state)

/** The fields that change with a handoff. */
const ofActiveAgent = liveFields<Entered, ActiveAgent>({
  plan: planOf,
  watchers(of) {
    const plan = planOf(of)
    if (of.watched?.plan !== plan) of.watched = { plan, watchers: observersOf(plan.hooks) }
    return of.watched.watchers
  },
  secrets(of) {
    const { entry, secrets, handed } = of
    const plan = planOf(of)
    // The plan may differ after a handoff back to the entry agent, so names are compared.
    if (plan.name === entry.name) return secrets
    const own = handed.get(plan) ?? childSecrets(secrets, plan.secrets, { secrets: 'isolated' })
    handed.set(plan, own)
    return own
  },
  graceMs: ({ control }) => graceOf(control),
})
