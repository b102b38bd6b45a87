import type { Input, Label, MaybePromise, Message, NewEntry } from '@provost/core'
import { ProvostError, isPromise, joinLabels, labelOf, positionId } from '@provost/core'

import { hookFailed } from '../control/run-ending.ts'
import { manifestOf } from '../definition/definition-change.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { checkActive, checkOverridden } from '../handoff/active-agent.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import { takenIds } from '../inbox/drain.ts'
import { enterMessages } from '../inbox/enter-messages.ts'
import { messageOf } from '../messages/message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { newEntry } from '../state/entry.ts'
import type { EntryContext } from '../types/log.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'

/** Returns the first entry of a new run. */
export function startedRun(ctx: RunContext): NewEntry {
  const { agent, options, id, state, parentRun } = ctx
  checkActive(ctx.entryAgent, state)
  checkOverridden(ctx.entryAgent, state)
  const place: EntryContext = { runId: id, step: 0, agent: agent.name, clock: state.clock }
  // An open run must be resumed explicitly, not replaced by accident.
  if (state.run && (state.run.status === 'running' || state.run.status === 'suspended')) {
    throw new ProvostError('session-open', `Session ${ctx.sessionId} has a ${state.run.status} run.`, {
      hint: 'Resume that run from its state before starting another.',
    })
  }
  const started = newEntry(place, `${id}/started`, {
    type: 'run',
    op: 'started',
    // A child follows its parent, whose manifest names its tool.
    manifest: parentRun?.within ? agent.manifest : manifestOf(agent),
    ...(options.principal && { principal: options.principal }),
    ...(parentRun && { parent: { log: parentRun.parentLog, runId: parentRun.parents[0] ?? '' } }),
    ...(parentRun?.grant && { grant: parentRun.grant }),
  })
  // The log records the run even if its input is rejected.
  ctx.ownershipEntries = [started]
  return started
}

/** Begins a run. One append records its start and its first messages. */
export async function begin(
  ctx: RunContext,
  started: NewEntry,
  { input, token, by, data }: Extract<RunStart<unknown>, { input: Input }>,
): Promise<void> {
  const { agent, id, logWriter, parentRun, state } = ctx
  const place: EntryContext = { runId: id, step: 0, agent: agent.name, clock: state.clock }
  const key = positionId(id, 0, 'message', 'input')
  const taken = token === undefined ? [] : [takenEntry(place, token, by, data)]
  // A rejected input does not enter again.
  ctx.ownershipEntries = [started, ...taken]
  const received = messagesOf(input, key, agent, takenIds(ctx))
  const messages = parentRun ? received.map((message) => labelledWith(message, parentRun.label)) : received
  const entered = await enterMessages(ctx, messages, 'input', place, key)
  ctx.ownershipEntries = [started, ...taken, ...entered]
  await logWriter.begin(ctx.ownershipEntries)
  ctx.ownershipEntries = []
  await prepareAgent(ctx, place)
}

/** Joins a label into the label of a message. Input of a child carries the label of its parent. */
function labelledWith(message: Message, label: Label): Message {
  return { ...message, label: joinLabels(labelOf(message), label) }
}

/** Prepares the active agent: the first one, or the target of a handoff. */
export async function prepareAgent(ctx: RunContext, place: EntryContext): Promise<void> {
  const { agent } = ctx
  const ready = agent.ready()
  if (isPromise(ready)) await ready
  // Cached prompts belong to the previous agent.
  ctx.prompts.clear()
  ctx.instructions = agent.instructions ?? ''
  ctx.subscribeHooks()
  await prepareSystem(ctx, place)
  ctx.preparedAgent = agent
}

/** Builds the system prompt. Extensions contribute once a session, the agent's instructions once a run. */
async function prepareSystem(scope: RunContext, place: EntryContext): Promise<void> {
  const { agent, state, logWriter } = scope
  const ctx = (): ReturnType<RunContext['contextFor']> => scope.contextFor(agent.self)
  if (agent.instruct) {
    const { instruct } = agent
    try {
      scope.instructions = await ctx().memo('instructions', async () =>
        checkText(await inHookTime(scope, agent.self, 'instructions', instruct(ctx()))),
      )
    } catch (thrown) {
      throw hookFailed(scope, agent.name, 'instructions', thrown)
    }
  }
  const texts = systemTexts(scope)
  scope.systemTexts = isPromise(texts) ? await texts : texts
  const key = `session.start/${agent.name}`
  if (agent.hooks['session.start'].length === 0 || state.memos.has(key)) return
  const entries = await systemEntries(scope, place)
  await logWriter.append([...entries, newEntry(place, `${place.runId}/${key}`, { type: 'memo', key, value: true })])
}

/** Returns the instructions that the application made. @throws ProvostError `invalid-answer` for another type. */
function checkText(made: unknown): string {
  if (typeof made === 'string') return made
  throw new ProvostError('invalid-answer', `instructions returned a value of type ${typeof made}.`, {
    hint: 'Return a string.',
  })
}

/** Returns the texts that `run.start` hooks add to the system prompt. */
function systemTexts(scope: RunContext): MaybePromise<readonly string[]> {
  const none: readonly string[] = []
  return runHooks(scope, 'run.start', none, {
    text: true,
    call: (hook, ctx) => hook(ctx),
    answered(answer, before, by) {
      if (typeof answer !== 'string') throw invalidAnswer(by, 'run.start')
      // No log entry scrubs it, and the model receives it.
      return [...before, scope.secrets.scrubber.scrub(answer)]
    },
  })
}

/** Returns the entries of the additions to the system prompt that `session.start` hooks make. */
function systemEntries(scope: RunContext, place: EntryContext): MaybePromise<readonly NewEntry[]> {
  const none: readonly NewEntry[] = []
  return runHooks(scope, 'session.start', none, {
    text: true,
    call: (hook, ctx) => hook(ctx),
    answered(answer, before, by) {
      const inits = typeof answer === 'string' ? [{ content: answer }] : answer
      const more = inits.map((init, index) => {
        const id = positionId(place.runId, place.step, `system/${by.name}`, index)
        const message = messageOf({ ...init, role: 'system' }, place.clock, id, undefined, scope.agent.name)
        return newEntry(place, id, { type: 'message', message, via: 'system' })
      })
      return [...before, ...more]
    },
  })
}
