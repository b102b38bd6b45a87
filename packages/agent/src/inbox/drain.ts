import { setImmediate as breath } from 'node:timers/promises'

import type { Input, MaybePromise, NewEntry } from '@provost/core'
import { positionId, textOf } from '@provost/core'

import { unlessAborted } from '../control/abort-control.ts'
import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { newSendToken } from '../messages/child-message.ts'
import type { Recipient } from '../messages/read-input.ts'
import { messagesOf } from '../messages/read-input.ts'
import { unknownRun } from '../result/session-error.ts'
import { placeOf } from '../state/entry.ts'
import type { Inbox, InboxInput, QueuedInput } from '../types/inputs.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { SendMode } from '../types/stream.ts'
import { callbackInputs } from './callback-inputs.ts'
import { enterMessages } from './enter-messages.ts'

/** Returns the entries of new inputs: steering messages before a step, and queued input too where the run would end. */
export function arrivals(ctx: RunContext, at: 'step' | 'end'): MaybePromise<readonly NewEntry[]> {
  const { inbox, pendingInputs, options } = ctx
  stopIfAborted(ctx)
  if (pendingInputs.yielding && at === 'step') throw new RunEnding('yielded')
  if (pendingInputs.draining) {
    // A final answer that finished during the drain completes the run.
    if (at === 'end' && !inbox.has('steer') && !inbox.has('queue')) return []
    throw new RunEnding('aborted')
  }
  const awaited =
    shouldYield(ctx) ||
    inbox.arriving() !== undefined ||
    inbox.has('steer') ||
    options.getSteering !== undefined ||
    (at === 'end' && (inbox.has('queue') || options.getFollowUp !== undefined))
  return awaited ? collectArrivals(ctx, at) : []
}

/** Whether to yield to the event loop at this step: models and tools that answer at once would starve timers and I/O. */
function shouldYield({ state }: RunContext): boolean {
  return (state.run?.step ?? 0) % 64 === 63
}

async function collectArrivals(ctx: RunContext, at: 'step' | 'end'): Promise<readonly NewEntry[]> {
  const { inbox, options } = ctx
  if (shouldYield(ctx)) await breath()
  await unlessAborted(ctx.signal, inbox.arriving())
  stopIfAborted(ctx)
  const steering = options.getSteering ? await callbackInputs(() => options.getSteering?.(), 'getSteering') : []
  const steered = await entering(ctx, [...inbox.unread('steer'), ...steering], 'steer')
  if (steered.length > 0 || at === 'step') return steered
  if (!inbox.has('queue') && options.getFollowUp)
    await sendAll(ctx, 'queue', await callbackInputs(() => options.getFollowUp?.(), 'getFollowUp'))
  const entries = await queuedEntries(ctx)
  for (const entry of entries) {
    if (entry.type !== 'message') continue
    const { message } = entry
    ctx.logWriter.emit('agent.followup.queued', { text: textOf(message), messageId: message.id })
  }
  return entries
}

/** Returns the entries of the next queued input, or of all of them where the run merges them. */
async function queuedEntries(ctx: RunContext): Promise<readonly NewEntry[]> {
  const queued = ctx.inbox.unread('queue')
  if ((ctx.options.followUps ?? ctx.entryAgent.followUps) === 'merge') return entering(ctx, [...queued], 'queue')
  const entries: NewEntry[] = []
  // Inputs that were withdrawn, or are invalid, begin no turn.
  for (const input of queued) {
    entries.push(...(await entering(ctx, [input], 'queue')))
    if (entries.some(({ type }) => type === 'message')) break
  }
  return entries
}

/**
 * Sends inputs of a callback to the run's own inbox: they outlive this process while they wait for their turn.
 *
 * @throws ProvostError `invalid-input` before any of them is sent.
 */
export async function sendAll(ctx: RunContext, mode: SendMode, inputs: readonly QueuedInput[]): Promise<void> {
  const valid = inputs.map(({ input }) => {
    const token = newSendToken()
    return { token, input: messagesOf(input, token, ctx.agent) }
  })
  await Promise.all(valid.map(({ token, input }) => ctx.inbox.send(token, { input, mode })))
  await ctx.inbox.arriving()
}

/** Returns the first unread input of an inbox with which a run can start. The run takes the others later. */
export function firstInput(inbox: Inbox, agent: Recipient): InboxInput | undefined {
  const first = (mode: SendMode): InboxInput | undefined => {
    for (const item of inbox.unread(mode)) {
      const { input, token, signal, to } = item
      if (to === undefined && !signal?.aborted && isValid(input, token, agent)) return item
    }
    return undefined
  }
  const [steer, queued] = [first('steer'), first('queue')]
  return queued && steer && queued.position < steer.position ? queued : (steer ?? queued)
}

function isValid(input: Input, token: string, agent: Recipient): boolean {
  try {
    return messagesOf(input, token, agent).length > 0
  } catch {
    return false
  }
}

async function entering(
  ctx: RunContext,
  all: readonly (QueuedInput & Pick<Partial<InboxInput>, 'to'>)[],
  via: 'steer' | 'queue',
): Promise<readonly NewEntry[]> {
  const { agent, state } = ctx
  const place = placeOf(state)
  const entries: NewEntry[] = []
  for (const [index, { input, token, by, data, signal, to }] of all.entries()) {
    if (token !== undefined && state.resolvedWaits.has(token)) continue
    // One append for both, so that a crash cannot lose or repeat the delivery.
    if (token !== undefined) entries.push(takenEntry(place, token, by, data))
    if (signal?.aborted) continue
    const key = positionId(place.runId, place.step, `message/${via}`, `${state.messages.length}.${index}`)
    try {
      if (to !== undefined && to !== ctx.id) throw unknownRun(ctx.sessionId, to)
      const messages = messagesOf(input, key, agent, takenIds(ctx))
      entries.push(...(await enterMessages(ctx, messages, via, place, key)))
    } catch (thrown) {
      // The run rejects the input, so no later run takes it.
      if (token !== undefined && thrown instanceof RunEnding) await ctx.logWriter.append(entries)
      // An invalid delivery must not end the run: any process may write to the inbox.
      if (token === undefined || thrown instanceof RunEnding) throw thrown
      report(ctx, thrown, { kind: 'listener', name: 'inbox' })
    }
  }
  return entries
}

/** Returns a check for message ids that the session already has or that this run reserves. */
export function takenIds({ state, id }: RunContext): (messageId: string) => boolean {
  let known: Set<string> | undefined
  return (messageId) => {
    // Built on first use: few inputs bring ids.
    known ??= new Set(state.messages.map((message) => message.id))
    return messageId.startsWith(`${id}/`) || known.has(messageId)
  }
}
