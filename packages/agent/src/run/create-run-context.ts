import type { SecretScope } from '@provost/tools'
import { childSecrets, createSlots } from '@provost/tools'

import { createActiveCalls } from '../composite/active-calls.ts'
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
import type { AbortControl, RunContext } from '../types/run-context.ts'
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
    inbox,
    peers,
  }: Pick<RunContext, 'eventBus' | 'log' | 'startRun' | 'parentRun' | 'tree' | 'inbox' | 'peers'>,
  secrets: SecretScope = entryAgent.secrets,
): RunContext {
  const active = activeAgent(entryAgent, logWriter.state)
  const children: RunContext['children'] = new Map()
  const reservations = createReservations(logWriter.state)
  /** Secrets of the targets of handoffs. Each target has its own; one scrubber hides all. */
  const handed = new Map<ResolvedAgent, SecretScope>()
  const secretsOf = (agent: ResolvedAgent): SecretScope => {
    // The plan may differ after a handoff back to the entry agent, so names are compared.
    if (agent.name === entryAgent.name) return secrets
    const own = handed.get(agent) ?? childSecrets(secrets, agent.secrets, { secrets: 'isolated' })
    handed.set(agent, own)
    return own
  }
  let observed: { readonly agent: ResolvedAgent; readonly observers: Observers } | undefined
  const ctx: RunContext = {
    agent: active,
    updateAgent() {
      const agent = activeAgent(entryAgent, logWriter.state)
      if (agent === ctx.agent) return
      ctx.agent = agent
      ctx.secrets = secretsOf(agent)
    },
    observers() {
      if (observed?.agent !== ctx.agent) observed = { agent: ctx.agent, observers: observersOf(ctx.agent.hooks) }
      return observed.observers
    },
    secrets: secretsOf(active),
    entryAgent,
    id,
    sessionId,
    options: {
      ...options,
      getSteering: options.getSteering ?? entryAgent.options.getSteering,
      getFollowUp: options.getFollowUp ?? entryAgent.options.getFollowUp,
    },
    logWriter,
    state: logWriter.state,
    eventBus,
    log,
    startRun,
    parentRun,
    peers,
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
    control,
    signal: control.signal,
    prompts: new Map(),
    pendingInputs,
    inbox,
    openQuestions: new Map(),
    offeredTools: undefined,
    promotedTools: undefined,
    parsedInputs: new Map(),
    activeCalls: createActiveCalls(),
    slots: createSlots(entryAgent.maxParallelTools),
    instructions: active.instructions ?? '',
    systemTexts: [],
    preparedAgent: undefined,
    subscribeHooks() {},
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
    changed: undefined,
    resumeOffset: undefined,
    pendingAttempt: undefined,
    partialMessage: undefined,
    contextFor: hookContexts(() => ctx),
    hookTimes: new Map(),
    contextSize: createContextSize(),
  }
  return ctx
}
