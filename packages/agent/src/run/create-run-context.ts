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
import type { UntypedRunOptions } from '../types/session.ts'

/**
 * Creates the context shared by all handlers of a run.
 *
 * @param entryAgent the agent with which runs of the session begin.
 */
export function createRunContext(
  entryAgent: ResolvedAgent,
  options: UntypedRunOptions,
  id: string,
  sessionId: string,
  logWriter: LogWriter,
  pendingInputs: PendingInputs,
  control: AbortControl,
  {
    eventBus,
    log,
    startRun,
    parentRun,
    tree,
  }: Pick<RunContext, 'eventBus' | 'log' | 'startRun' | 'parentRun' | 'tree'>,
  secrets: SecretScope = entryAgent.secrets,
): RunContext {
  const children: RunContext['children'] = new Map()
  const reservations = createReservations(logWriter.state)
  const fixed = {
    entryAgent,
    id,
    sessionId,
    options,
    logWriter,
    state: logWriter.state,
    eventBus,
    log,
    startRun,
    parentRun,
    children,
    tree,
    reservations,
    remaining() {
      if (!parentRun) return undefined
      const left =
        parentRun.grant &&
        withoutReserved(remaining(parentRun.grant, usageOfBudget(logWriter.state.run, children)), reservations.total())
      return minGrant(left, parentRun.remaining())
    },
    signal: control.controller.signal,
    prompts: new Map(),
    pendingInputs,
    inbox: undefined,
    openQuestions: new Map(),
    offeredTools: undefined,
    promotedTools: undefined,
    parsedInputs: new Map(),
    activeCalls: createActiveCalls(),
    slots: createSlots(entryAgent.maxParallelTools),
    instructions: activeAgent(entryAgent, logWriter.state).instructions ?? '',
    preparedAgent: undefined,
    subscribeHooks() {},
    pendingPolicy: () => control.options.onPendingApprovals ?? 'deny',
    step: logWriter.state.run?.id === id ? logWriter.state.run.step : 0,
    attempt: 1,
    observed: false,
    questionCount: 0,
    auditCount: 0,
    hookModelCalls: 0,
    hookRequests: 0,
    viewTrigger: 'step',
    stepRequest: {},
    ownershipEntries: undefined,
    resumeOffset: undefined,
    pendingAttempt: undefined,
    partialMessage: undefined,
    contextFor: hookContexts(() => ctx),
    hookTimes: new Map(),
    contextSize: createContextSize(),
  } satisfies Omit<RunContext, keyof ActiveAgent>
  const ctx: RunContext = ofActiveAgent(fixed, {
    entryAgent,
    logWriter,
    control,
    secrets,
    handed: new Map(),
    observation: undefined,
  })
  return ctx
}

type ActiveAgent = Pick<RunContext, 'agent' | 'observers' | 'secrets' | 'graceMs'>

interface RunContextParts {
  readonly entryAgent: ResolvedAgent
  readonly logWriter: LogWriter
  readonly control: AbortControl
  readonly secrets: SecretScope
  /** Secrets of the targets of handoffs. Each target has its own; one scrubber hides all. */
  readonly handed: Map<ResolvedAgent, SecretScope>
  observation: { readonly agent: ResolvedAgent; readonly observers: Observers } | undefined
}

const planOf = ({ entryAgent, logWriter }: RunContextParts): ResolvedAgent => activeAgent(entryAgent, logWriter.state)

/** The fields that change with a handoff. */
const ofActiveAgent = liveFields<RunContextParts, ActiveAgent>({
  agent: planOf,
  observers(of) {
    const agent = planOf(of)
    if (of.observation?.agent !== agent) of.observation = { agent, observers: observersOf(agent.hooks) }
    return of.observation.observers
  },
  secrets(of) {
    const { entryAgent, secrets, handed } = of
    const agent = planOf(of)
    // The plan may differ after a handoff back to the entry agent, so names are compared.
    if (agent.name === entryAgent.name) return secrets
    const own = handed.get(agent) ?? childSecrets(secrets, agent.secrets, { secrets: 'isolated' })
    handed.set(agent, own)
    return own
  },
  graceMs: ({ control }) => graceOf(control),
})
