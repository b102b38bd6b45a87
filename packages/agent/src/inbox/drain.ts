import { setImmediate as breath } from 'node:timers/promises'

import type { MaybePromise, NewEntry } from '@provost/core'
import { positionId, textOf } from '@provost/core'

import { unlessAborted } from '../control/abort-control.ts'
import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { messagesOf } from '../messages/read-input.ts'
import { placeOf } from '../state/entry.ts'
import type { QueuedInput } from '../types/inputs.ts'
import type { LoopAnswers } from '../types/loop.ts'
import type { RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import { callbackInputs } from './callback-inputs.ts'
import { inFlightTo, returnMessages } from './child-routing.ts'
import { enterMessages } from './enter-messages.ts'

/** Returns the entries of new inputs: steering messages before a step, and queued inputs too where the run would end. */
export function arrivals(ctx: RunContext, at: 'step' | 'end'): MaybePromise<LoopAnswers['input']> {
  const { pendingInputs, options } = ctx
  stopIfAborted(ctx)
  if (pendingInputs.draining) {
    // A final answer that finished during the drain completes the run.
    if (at === 'end' && pendingInputs.steering.length + pendingInputs.followUps.length === 0) return []
    throw new RunEnding('aborted')
  }
  const awaited =
    shouldYield(ctx) ||
    ctx.inbox?.arriving() !== undefined ||
    pendingInputs.steering.length > 0 ||
    pendingInputs.childMessages.length > 0 ||
    options.getSteering !== undefined ||
    (at === 'end' &&
      (pendingInputs.followUps.length > 0 || options.getFollowUp !== undefined || ctx.tree.childMessages.size > 0))
  return awaited ? collectArrivals(ctx, at) : []
}

/** Whether to yield to the event loop at this step: models and tools that answer at once would starve timers and I/O. */
function shouldYield({ state }: RunContext): boolean {
  return (state.run?.step ?? 0) % 64 === 63
}

async function collectArrivals(ctx: RunContext, at: 'step' | 'end'): Promise<LoopAnswers['input']> {
  const { pendingInputs, options } = ctx
  if (shouldYield(ctx)) await breath()
  await unlessAborted(ctx.signal, ctx.inbox?.arriving())
  // Wait for messages that were sent to this child and are still in the logs of its ancestors.
  if (at === 'end') await unlessAborted(ctx.signal, inFlightTo(ctx.tree, ctx.id))
  stopIfAborted(ctx)
  const steering = options.getSteering ? callbackInputs(await options.getSteering(), 'getSteering') : []
  const steers = [...pendingInputs.steering.splice(0), ...steering]
  const lost = pendingInputs.childMessages.length > 0 ? returnMessages(ctx) : []
  const steered = [...lost, ...(steers.length > 0 ? await entering(ctx, steers, 'steer') : [])]
  if (steered.length > 0 || at === 'step') return steered
  const following =
    pendingInputs.followUps.length === 0 && options.getFollowUp
      ? callbackInputs(await options.getFollowUp(), 'getFollowUp')
      : []
  const queued = [...pendingInputs.followUps.splice(0), ...following]
  if (queued.length === 0) return []
  const entries = await entering(ctx, queued, 'queue')
  for (const entry of entries) {
    if (entry.type !== 'message') continue
    const { message } = entry
    ctx.logWriter.emit('agent.followup.queued', { text: textOf(message), messageId: message.id })
  }
  return entries
}

async function entering(
  ctx: RunContext,
  all: readonly QueuedInput[],
  via: 'steer' | 'queue',
): Promise<readonly NewEntry[]> {
  const { agent, state } = ctx
  const place = placeOf(state)
  const entries: NewEntry[] = []
  for (const [index, { input, token, by, signal }] of all.entries()) {
    if (token !== undefined && state.resolvedWaits.has(token)) continue
    // One append for both, so that a crash cannot lose or repeat the delivery.
    if (token !== undefined) entries.push(takenEntry(place, token, by))
    if (signal?.aborted) continue
    const key = positionId(place.runId, place.step, `message/${via}`, `${state.messages.length}.${index}`)
    try {
      const messages = messagesOf(input, key, agent, takenIds(ctx))
      entries.push(...(await enterMessages(ctx, messages, via, place, key)))
    } catch (thrown) {
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
