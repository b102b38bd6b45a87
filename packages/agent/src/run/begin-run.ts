import type { Input, Label, MaybePromise, Message, NewEntry } from '@provost/core'
import { ProvostError, isPromise, joinLabels, labelOf, positionId } from '@provost/core'

import { hookFailed } from '../control/run-ending.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { checkActive } from '../handoff/active-agent.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { runHooks } from '../hooks/run-hooks.ts'
import { takenIds } from '../inbox/drain.ts'
import { enterMessages } from '../inbox/enter-messages.ts'
import { messageOf } from '../messages/message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { newEntry } from '../state/entry.ts'
import type { Place } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'

/** Returns the first entry of a new run. */
export function startedRun(scope: RunContext, token: string | undefined): NewEntry {
  const { plan, given, id, state, lineage } = scope
  checkActive(scope.entry, state)
  const place: Place = { runId: id, step: 0, agent: plan.name }
  // An open run must be resumed explicitly, not replaced by accident.
  if (state.run && (state.run.status === 'running' || state.run.status === 'suspended')) {
    throw new ProvostError('session-open', `Session ${scope.sessionId} has a ${state.run.status} run.`, {
      hint: 'Resume that run from its state before starting another.',
    })
  }
  // Another process took the input first. Inbox input enters a session once.
  if (token !== undefined && state.resolved.has(token)) {
    throw new ProvostError('already-taken', 'The input of this run has already entered the session.', {
      hint: 'Do nothing: another run has taken the input.',
    })
  }
  const started = newEntry(place, `${id}/started`, {
    type: 'run',
    op: 'started',
    manifest: plan.manifest,
    ...(given.principal && { principal: given.principal }),
    ...(lineage && { parent: { log: lineage.parentLog, runId: lineage.parents[0] ?? '' } }),
    ...(lineage?.grant && { grant: lineage.grant }),
  })
  // The log records the run even if its input is rejected.
  scope.claim = [started]
  return started
}

/** Begins a run. One append records its start and its first messages. */
export async function begin(
  scope: RunContext,
  started: NewEntry,
  input: Input,
  token: string | undefined,
): Promise<void> {
  const { plan, id, journal, lineage } = scope
  const place: Place = { runId: id, step: 0, agent: plan.name }
  const key = positionId(id, 0, 'message', 'input')
  const received = messagesOf(input, key, plan, takenIds(scope))
  const messages = lineage ? received.map((message) => labelledWith(message, lineage.label)) : received
  const entered = await enterMessages(scope, messages, 'input', place, key)
  scope.claim = [started, ...(token === undefined ? [] : [takenEntry(place, token)]), ...entered]
  await journal.begin(scope.claim)
  scope.claim = []
  await prepareAgent(scope, place)
}

/** Joins a label into the label of a message. Input of a child carries the label of its parent. */
function labelledWith(message: Message, label: Label): Message {
  return { ...message, label: joinLabels(labelOf(message), label) }
}

/** Prepares the active agent: the first one, or the target of a handoff. */
export async function prepareAgent(scope: RunContext, place: Place): Promise<void> {
  const { plan } = scope
  const ready = plan.ready()
  if (isPromise(ready)) await ready
  // Cached prompts belong to the previous agent.
  scope.prompts.clear()
  scope.instructions = plan.instructions ?? ''
  scope.hear()
  await prepareSystem(scope, place)
  scope.prepared = plan
}

/** Builds the system prompt. Extensions contribute once a session, the agent's instructions once a run. */
async function prepareSystem(scope: RunContext, place: Place): Promise<void> {
  const { plan, state, journal } = scope
  const ctx = (): ReturnType<RunContext['contextFor']> => scope.contextFor(plan.self)
  if (plan.instruct) {
    const { instruct } = plan
    try {
      scope.instructions = await ctx().memo('instructions', () =>
        inHookTime(scope, plan.self, 'instructions', instruct(ctx())),
      )
    } catch (thrown) {
      throw hookFailed(scope, plan.name, 'instructions', thrown)
    }
  }
  const key = `session.start/${plan.name}`
  if (plan.hooks['session.start'].length === 0 || state.memos.has(key)) return
  const entries = await systemEntries(scope, place)
  await journal.append([...entries, newEntry(place, `${place.runId}/${key}`, { type: 'memo', key, value: true })])
}

/** Returns the entries of the additions to the system prompt that `session.start` hooks make. */
function systemEntries(scope: RunContext, place: Place): MaybePromise<readonly NewEntry[]> {
  const none: readonly NewEntry[] = []
  return runHooks(scope, 'session.start', none, {
    text: true,
    call: (hook, ctx) => hook(ctx),
    answered(answer, before, by) {
      const inits = typeof answer === 'string' ? [{ content: answer }] : answer
      const more = inits.map((init, index) => {
        const id = positionId(place.runId, place.step, `system/${by.name}`, index)
        const message = messageOf({ ...init, role: 'system' }, id, undefined, scope.plan.name)
        return newEntry(place, id, { type: 'message', message, via: 'system' })
      })
      return [...before, ...more]
    },
  })
}
