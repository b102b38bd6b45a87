import type { Extension, HookContext, Message, MessageInit, Stop, View, ViewEdit } from '@provost/core'
import { defineExtension } from '@provost/core'
import { messageTokens } from '@provost/provider'

import type { Anchors } from './after-compaction.ts'
import { anchorsAfter } from './after-compaction.ts'
import type { Budget } from './budget.ts'
import { budgetOf, graceOf } from './budget.ts'
import { clearResults, shortenResults } from './clear-results.ts'
import type { CompactionOptions, CustomStrategy, Settings } from './compaction-options.ts'
import { settingsOf } from './compaction-options.ts'
import type { CompactionState } from './compaction-state.ts'
import { compactionFold, empty, extensionName, isRequest } from './compaction-state.ts'
import type { Cut } from './cut-point.ts'
import { findCut } from './cut-point.ts'
import { draftOf, tokensOf } from './message-size.ts'
import { compactedAt, nativeRequest, requestAgain } from './provider-compaction.ts'
import type { SummaryProblem } from './summary.ts'
import { summaryOf } from './summary.ts'
import { inTime } from './time-limit.ts'

/**
 * Keeps a conversation within the model's window. It checks the size of the request before each model call. From
 * `threshold` on it shortens the request once and by much, so that the prefix stays stable in between. The log keeps all
 * messages. The system prompt, the tools, the user's latest request, the recent steps and each pair of call and result
 * stay complete. A summary carries the joined labels of the messages that it replaces.
 *
 * If no strategy helps, the run continues while the request fits. It then fails with `context-overflow`, or with
 * `context-clearance-denied` if the summariser is not cleared for the history. If a model rejects a request as too long,
 * the request is compacted and sent once more. If the window is unknown, this is the only compaction.
 *
 * @throws ProvostError `invalid-option`
 *
 * @example
 * createAgent({ name: 'desk', model, extensions: [compaction({ threshold: 0.8, pinned: ['Amounts are in euros.'] })] })
 */
export function compaction(options: CompactionOptions = {}): Extension<unknown> {
  const settings = settingsOf(options)
  const native = settings.strategies.includes('provider')
  return defineExtension({
    name: extensionName,
    hooks: {
      context: (view, ctx) => compact(view, settings, ctx),
      ...(native && {
        'model.request': (request, ctx) => {
          const { model } = request
          const state = stateOf(ctx)
          const budget = budgetOf({ ...ctx.view, model, trigger: 'step' }, settings, state)
          const nativeOptions = budget && nativeRequest(request, budget.window, settings.threshold)
          const tail = requestAgain(ctx.view.messages, (message) => isRequest(message, state))
          return tail.length > 0 ? { ...nativeOptions, tail } : nativeOptions
        },
      }),
      'model.error'(failure) {
        if (failure.class !== 'context-length' || failure.effects) return undefined
        const refused = failure.tried.filter((one) => one.class === 'context-length' && one.model === failure.model)
        if (refused.length === 1) return { compact: true }
        return {
          failAs: {
            code: 'context-overflow',
            message: `${failure.model} rejected the request as too long, before and after compaction: ${failure.error.message}`,
            hint: 'Give the agent fewer tools, shorter instructions or inputs, or a model with a larger window.',
          },
        }
      },
    },
  })
}

function stateOf(ctx: HookContext): CompactionState {
  return ctx.fold(compactionFold) ?? empty()
}

async function compact(view: View, settings: Settings, ctx: HookContext): Promise<ViewEdit | Stop | undefined> {
  const { trigger, model } = view
  const state = stateOf(ctx)
  const before = view.tokens + view.overhead
  const handed = settings.strategies.includes('provider') ? takenOver(view, state) : undefined
  if (handed) return handed
  const budget = budgetOf(view, settings, state)
  if (!budget) return undefined
  const due = before >= budget.trigger && (before >= (state.irreducibleTokens ?? 0) || before > budget.window)
  if (trigger === 'step' && !due) return undefined
  if (trigger === 'overflow') await ctx.append(`refused/${before}`, { refused: before, model })

  const began = ctx.now()
  const job: Compaction = { view, messages: view.messages, budget, settings, state, ctx }
  for (const level of ['normal', 'hard'] as const) {
    const best = await bestOf(job, level)
    if (!best) continue
    const edit = editOf(view.messages, best.messages)
    if (!edit) continue
    return {
      ...edit,
      compacted: {
        beforeTokens: before,
        afterTokens: tokensOf(best.messages) + view.overhead,
        summaryTokens: best.summaryTokens,
        durationMs: ctx.now() - began,
        hooksFired: best.fired,
        source: trigger,
      },
    }
  }
  if (trigger === 'manual') return job.problem && { stop: job.problem }
  if (trigger === 'overflow') return undefined
  if (before > budget.window) return overflow(before, budget, model, job.problem)
  await ctx.append(`held/${before}`, { held: before + graceOf(budget) })
  return undefined
}

/** A compaction in progress. */
interface Compaction {
  readonly view: View
  readonly messages: readonly Message[]
  readonly budget: Budget
  readonly settings: Settings
  readonly state: CompactionState
  readonly ctx: HookContext
  /** Why there is no summary: the summariser is not called twice. */
  problem?: SummaryProblem
}

/** A possible new view. */
interface Candidate {
  readonly messages: readonly (MessageInit | Message)[]
  readonly summaryTokens: number
  readonly fired: readonly string[]
}

type Level = 'normal' | 'hard'

/** Returns the first candidate that reaches the goal, else the shortest acceptable one. */
async function bestOf(job: Compaction, level: Level): Promise<Candidate | undefined> {
  const { budget, view, settings } = job
  let best: { readonly candidate: Candidate; readonly tokens: number } | undefined
  for (const strategy of settings.strategies) {
    const candidate = await candidateOf(job, level, strategy)
    if (!candidate) continue
    const tokens = tokensOf(candidate.messages) + view.overhead
    if (tokens <= budget.goal) return candidate
    if (tokens < budget.limit && tokens < (best?.tokens ?? Number.POSITIVE_INFINITY)) best = { candidate, tokens }
  }
  return best?.candidate
}

async function candidateOf(
  job: Compaction,
  level: Level,
  strategy: Settings['strategies'][number],
): Promise<Candidate | undefined> {
  if (strategy === 'provider') return undefined
  if (strategy === 'clear-tool-results') return cleared(job, level)
  const requests = (message: Message): boolean => isRequest(message, job.state)
  const cut = findCut(job.messages, level === 'hard' ? 0 : job.budget.keepRecent, requests)
  return strategy === 'summarize' ? summarized(job, level, cut) : custom(job, cut, strategy)
}

function cleared({ messages, budget, view }: Compaction, level: Level): Candidate {
  if (level === 'normal') return { messages: clearResults(messages, 3), summaryTokens: 0, fired: [] }
  const kept = clearResults(messages, 1)
  return { messages: fitted(kept, budget.goal - view.overhead), summaryTokens: 0, fired: [] }
}

/** Returns the messages with the last results cut so that all fit. */
function fitted(messages: readonly Message[], goal: number): readonly Message[] {
  const over = tokensOf(messages) - goal
  const last = messages.findLast(({ role }) => role === 'tool')
  if (over <= 0 || !last) return messages
  return shortenResults(messages, Math.max(messageTokens(last) - over, 0))
}

async function summarized(job: Compaction, level: Level, { recent, request }: Cut): Promise<Candidate | undefined> {
  const { messages, budget, view, settings, state, ctx } = job
  const old = messages.slice(0, recent)
  const again = request && old.includes(request) ? [request] : []
  const removed = old.filter((message) => message !== request)
  const size = tokensOf(removed)
  const room = Math.floor(Math.min(4096, budget.window / 12))
  const maxTokens = Math.max(64, Math.min(room, Math.floor(size / 3)))
  const left = messages.slice(recent)
  const kept = level === 'hard' ? fitted(left, budget.goal - view.overhead - tokensOf(again) - maxTokens - room) : left
  // Call the summariser only if it can help, since it costs money.
  const floor = view.overhead + tokensOf(again) + tokensOf(kept)
  if (job.problem || removed.length === 0 || floor + Math.min(maxTokens, size) > budget.limit) return undefined
  const summing = { messages: removed, window: budget.window, maxTokens, own: state.summaryIds }
  const written = await summaryOf(summing, settings, ctx)
  if ('problem' in written) {
    job.problem = written.problem
    return undefined
  }
  const { summary } = written
  const summaryTokens = tokensOf([summary])
  const spare = Math.min(room, budget.limit - floor - summaryTokens - 1)
  const anchors: Anchors = await anchorsAfter(
    { before: removed, summary: draftOf(summary) },
    settings,
    state,
    spare,
    ctx,
  )
  return { messages: [summary, ...anchors.messages, ...again, ...kept], summaryTokens, fired: anchors.fired }
}

async function custom(job: Compaction, cut: Cut, strategy: CustomStrategy): Promise<Candidate | undefined> {
  const { messages, budget, view, settings, ctx } = job
  const { recent, request } = cut
  const input = { messages, recent, goal: budget.goal - view.overhead, ...(request && { request }) }
  const work = (): ReturnType<CustomStrategy['compact']> => strategy.compact(input, ctx)
  try {
    const made = await inTime(ctx, settings.timeoutMs, `The strategy ${strategy.name}`, work)
    return made ? { messages: made, summaryTokens: 0, fired: [] } : undefined
  } catch (thrown) {
    if (ctx.signal.aborted) throw thrown
    ctx.report(thrown, `strategy.${strategy.name}`)
    return undefined
  }
}

/** Returns the smallest edit: messages before the change stay cached, messages after it are not copied. */
function editOf(
  before: readonly Message[],
  after: readonly (MessageInit | Message)[],
): Pick<ViewEdit, 'from' | 'to' | 'with'> | undefined {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++
  // A pure insertion replaces the message before it.
  if (head + tail >= before.length) {
    if (head + tail >= after.length) return undefined
    if (head > 0) head--
    else tail--
  }
  const [from, to] = [before[head], before[before.length - 1 - tail]]
  return from && to && { from: from.id, to: to.id, with: after.slice(head, after.length - tail) }
}

/** Removes the messages that the provider has compacted. */
function takenOver(view: View, state: CompactionState): ViewEdit | undefined {
  const { messages, tokens, overhead, trigger } = view
  const at = compactedAt(messages)
  const old = messages.slice(0, Math.max(at, 0))
  const request = messages.findLast((message) => isRequest(message, state))
  const kept = old.filter((message) => message === request)
  const [from, to, compacted] = [old[0], old.at(-1), messages[at]]
  if (!from || !to || !compacted || kept.length === old.length) return undefined
  // A history always begins with a user message.
  const first = kept.length > 0 ? kept : old.filter(({ role }) => role === 'user').slice(-1)
  if (first.length === old.length) return undefined
  const beforeTokens = tokens + overhead
  const summaryTokens = messageTokens(compacted)
  const afterTokens = beforeTokens - tokensOf(old) + tokensOf(first)
  return {
    from: from.id,
    to: to.id,
    with: first,
    compacted: { beforeTokens, afterTokens, summaryTokens, durationMs: 0, hooksFired: [], source: trigger },
  }
}

function overflow(before: number, { window }: Budget, model: string, problem?: SummaryProblem): Stop {
  const fits = `The request is about ${Math.round(before)} tokens, and ${model} takes ${Math.round(window)}.`
  const why = problem ? ` ${problem.message}` : ' What has to stay as it is does not fit.'
  const message = `${fits}${why}`
  return problem?.code === 'context-clearance-denied'
    ? { stop: { code: problem.code, message, hint: 'Let a model summarize that may receive the content.' } }
    : { stop: { code: 'context-overflow', message, hint: 'Use fewer tools, shorter instructions or a larger window.' } }
}
