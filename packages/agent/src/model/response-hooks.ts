import type { Ask, MaybePromise, Message, NewEntry } from '@provost/core'
import { isPromise, labelOf } from '@provost/core'
import type { ModelAnswer } from '@provost/provider'

import { answeredEntry } from '../entries/response-entries.ts'
import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import { messageOf } from '../messages/message.ts'
import { withCost } from '../prompt/cost.ts'
import { checkOutput } from '../prompt/structured-output.ts'
import { mergeApprovals } from '../question/merge-approvals.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import type { EntryContext } from '../types/log.ts'
import type { StepOutcome, Repair } from '../types/loop.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ModelAttempt } from './model-attempt.ts'
import { isHeldBack } from './model-attempt.ts'
import type { PreparedRequest } from './model-request.ts'

/** Validates an answer with the `model.response` hooks and the output schema. Its usage counts in every case. */
export async function validateResponse(
  ctx: RunContext,
  place: EntryContext,
  tried: ModelAttempt,
  answer: Extract<ModelAnswer, { ok: true }>,
  { output }: StepRequest,
  hold: PreparedRequest['hold'],
): Promise<StepOutcome> {
  const { model } = tried
  const answered = {
    finishReason: answer.finishReason,
    model,
    attempt: ctx.attempt,
    ...withCost(answer.usage, model, ctx.agent.prices),
  }
  const spent = (): NewEntry => answeredEntry(ctx.state, ctx.agent, place, answered)
  // The usage counts even if the answer is rejected.
  ctx.pendingAttempt = spent
  const { message, repair, asks } = await judgeMessage(ctx, tried.message, model, output === undefined)
  if (asks.length > 0 && !repair) return { ...answered, message, ask: mergeApprovals(asks) }
  // A held-back answer that needs a repair is never shown.
  if (repair && isHeldBack(tried.pieces, hold)) return { ...answered, message, repair, unsaid: true }
  tried.pieces.release(message)
  return repair ? { ...answered, message, repair } : { ...answered, message }
}

/** A message after all hooks, with the repair and approvals that they request. */
interface Judged {
  readonly message: Message
  readonly repair?: Repair
  readonly asks: readonly Ask[]
}

/**
 * Passes an answer through all hooks. Each hook receives the previous hook's message. A repair takes precedence over
 * approvals.
 *
 * @param model the name of the model that answered.
 * @param final whether an answer without calls may be the output of the run and must fit the agent's schema.
 */
async function judgeMessage(ctx: RunContext, spoken: Message, model: string, final: boolean): Promise<Judged> {
  const passed = throughHooks(ctx, spoken)
  const judged = isPromise(passed) ? await passed : passed
  if (judged.repair || !final || !ctx.agent.output) return judged
  const repair = await checkOutput(ctx, judged.message, model)
  return repair ? { ...judged, repair } : judged
}

function throughHooks(ctx: RunContext, spoken: Message): MaybePromise<Judged> {
  const unchanged: Judged = { message: spoken, asks: [] }
  if (ctx.agent.hooks['model.response'].length === 0) return unchanged
  return runHooks(ctx, 'model.response', unchanged, {
    shown: ({ message }) => labelOf(message),
    call: (hook, hookContext, { message }) => hook(message, hookContext),
    answered(answer, before, by) {
      const { message, asks, repair } = before
      if ('ask' in answer) {
        checkAsks(by)
        return { ...before, asks: [...asks, answer.ask] }
      }
      if ('repair' in answer) return { ...before, repair: repair ?? { content: answer.repair } }
      if (!('message' in answer)) throw invalidAnswer(by, 'model.response')
      const other = { role: 'assistant', ...answer.message } as const
      return { ...before, message: messageOf(other, ctx.state.clock, message.id, message.label, message.agent) }
    },
  })
}
