import { liveFields } from '@provost/core'
import { childSecrets, createSlots } from '@provost/tools'
import type { SecretScope } from '@provost/tools'

import type { AbortControl } from './abort-control.ts'
import { graceOf } from './abort-control.ts'
import type { AgentPlan } from './agent-plan.ts'
import type { Given } from './agent.ts'
import { activePlan } from './handoff/active-agent.ts'
import { hookContexts } from './hook-context.ts'
import type { Journal } from './journal.ts'
import { createLiveCalls } from './live-calls.ts'
import type { Mailbox } from './mailbox.ts'
import { leftOf, spentBy, strictest } from './purse.ts'
import { createReservations, withoutReserved } from './reservations.ts'
import type { RunScope } from './run-scope.ts'
import { createViewSize } from './view-size.ts'
import type { Watchers } from './watchers.ts'
import { watchersOf } from './watchers.ts'

/**
 * Puts together what the answers of a run share.
 *
 * @param entry the agent that runs of the session begin with.
 */
export function createScope(
  entry: AgentPlan,
  given: Given,
  id: string,
  sessionId: string,
  journal: Journal,
  mailbox: Mailbox,
  control: AbortControl,
  { hub, log, startRun, lineage, tree }: Pick<RunScope, 'hub' | 'log' | 'startRun' | 'lineage' | 'tree'>,
  secrets: SecretScope = entry.secrets,
): RunScope {
  const children: RunScope['children'] = new Map()
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
        withoutReserved(leftOf(lineage.grant, spentBy(journal.state.run, children)), reservations.total())
      return strictest(left, lineage.remaining())
    },
    signal: control.controller.signal,
    prompts: new Map(),
    mailbox,
    inbox: undefined,
    asked: new Map(),
    offered: undefined,
    promoted: undefined,
    parsed: new Map(),
    live: createLiveCalls(),
    slots: createSlots(entry.maxParallelTools),
    instructions: activePlan(entry, journal.state).instructions ?? '',
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
    size: createViewSize(),
  } satisfies Omit<RunScope, keyof ActiveAgent>
  const scope: RunScope = ofActiveAgent(fixed, {
    entry,
    journal,
    control,
    secrets,
    handed: new Map(),
    watched: undefined,
  })
  return scope
}

type ActiveAgent = Pick<RunScope, 'plan' | 'watchers' | 'secrets' | 'graceMs'>

interface Entered {
  readonly entry: AgentPlan
  readonly journal: Journal
  readonly control: AbortControl
  readonly secrets: SecretScope
  /** Of agents that were handed the conversation: each has its own secrets, and all are hidden by one scrubber. */
  readonly handed: Map<AgentPlan, SecretScope>
  watched: { readonly plan: AgentPlan; readonly watchers: Watchers } | undefined
}

const planOf = ({ entry, journal }: Entered): AgentPlan => activePlan(entry, journal.state)

/** What changes when the run is handed over. */
const ofActiveAgent = liveFields<Entered, ActiveAgent>({
  plan: planOf,
  watchers(of) {
    const plan = planOf(of)
    if (of.watched?.plan !== plan) of.watched = { plan, watchers: watchersOf(plan.hooks) }
    return of.watched.watchers
  },
  secrets(of) {
    const { entry, secrets, handed } = of
    const plan = planOf(of)
    // Also where it got the conversation back, and is governed by those who had it meanwhile.
    if (plan.name === entry.name) return secrets
    const own = handed.get(plan) ?? childSecrets(secrets, plan.secrets, { secrets: 'isolated' })
    handed.set(plan, own)
    return own
  },
  graceMs: ({ control }) => graceOf(control),
})
