import { isRecord, noPendingWork, ProvostError } from '@provost/core'
import type { ModelMessage, RunResult, SessionStore } from '@provost/core'

import type { GuardOptions, GuardPlan } from '../definition/guard-options.ts'
import { planGuard } from '../definition/guard-options.ts'
import type { KnownTools, ToolDefinitions } from '../definition/guarded-tools.ts'
import { guardedTools } from '../definition/guarded-tools.ts'
import { chainAfter, compareHistory } from '../history/compare-history.ts'
import { finishRun, guardName, recordChange, recordHistory } from '../history/record-history.ts'
import type { SeenMessage } from '../history/seen-message.ts'
import { guardContext } from '../log/guard-context.ts'
import type { GuardLog } from '../log/guard-log.ts'
import { guardLog } from '../log/guard-log.ts'
import type { Conversation } from './conversations.ts'
import { conversations } from './conversations.ts'
import type { GuardVerdict, OutsideCall } from './judge-call.ts'
import { judgeApproved, judgeNew, linkAudit } from './judge-call.ts'

/** A call of another loop, with the history that the model answered with it. */
export interface JudgeRequest {
  readonly call: OutsideCall
  /** The messages that the model received, in the form of the AI SDK, without those that contain the call itself. */
  readonly history: readonly ModelMessage[]
  /** The tools that the loop offers, in the form of the AI SDK. */
  readonly definitions?: ToolDefinitions
  /** The id of the conversation. Default: the guard finds it by the history. */
  readonly session?: string | undefined
  /** A human has approved the call in the other loop: who it was. */
  readonly approvedBy?: string | undefined
}

/** Judges the calls of another loop, and keeps a log of each of its conversations. */
export interface Guard {
  /**
   * Judges a call before it runs, and records the decision. Never rejects: a call that cannot be judged is denied in the mode
   * `enforce`, and allowed in the mode `shadow`.
   */
  judge(request: JudgeRequest): Promise<GuardVerdict>
  /** The store with the logs: what `exportSession` reads. */
  readonly store: SessionStore
  /** Ends the runs of all conversations, so that their audits are complete, and closes a store that the guard opened. */
  close(): Promise<void>
}

interface GuardedConversation extends Conversation {
  readonly log: GuardLog
  readonly seen: SeenMessage[]
  /** The hash of all that was seen. */
  hash: string
  /** Entries of the log that were read for what was seen. */
  read: number
  tools: KnownTools | undefined
  queue: Promise<unknown>
}

/** Conversations that are kept. */
const mostConversations = 1_000
/** Messages of the longest history. */
const mostMessages = 20_000

/**
 * Creates a guard for a loop of any kind: it follows the messages of a loop, and judges each call by the same rules as
 * `dataFlowPolicy`. The adapters of this package are made with it.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-policy`
 *
 * @example
 * const guard = createGuard({ mode: 'enforce', audit: 'audit', tools: { send_email: { effect: 'egress', args: { to: 'destination' } } } })
 * const { decision } = await guard.judge({ history, call: { id: 'c1', name: 'send_email', input } })
 */
export function createGuard(options: GuardOptions): Guard {
  const plan = planGuard(options, 'createGuard')
  const toolsOf = guardedTools(plan.tools)
  const known = conversations<GuardedConversation>(
    (session) => ({
      session,
      log: guardLog(plan.store, session),
      ...{ seen: [], hash: '', read: 0, tools: undefined, chain: undefined, queue: Promise.resolve() },
    }),
    ({ session, queue }) => {
      if (plan.forgets) void queue.then(() => plan.store.delete(session)).catch(plan.onError)
    },
    mostConversations,
  )

  async function judgeIn(conversation: GuardedConversation, request: JudgeRequest): Promise<GuardVerdict> {
    const { log } = conversation
    const tools = await toolsOf(request.definitions ?? noDefinitions)
    conversation.tools = tools
    await log.acquire()
    const isNewStep = await follow(plan, conversation, request.history, tools)
    const judgement = { plan, log, tools, isNewStep }
    const { call, approvedBy } = request
    const verdict =
      approvedBy === undefined ? await judgeNew(judgement, call) : await judgeApproved(judgement, call, approvedBy)
    await linkAudit(plan, log, tools)
    conversation.read = log.state.entries.length
    await log.commit()
    if (conversation.seen.length > 0 && request.history.some(({ role }) => role === 'assistant'))
      known.note(conversation, conversation.hash)
    return verdict
  }

  function inOrder<T>(conversation: GuardedConversation, work: () => Promise<T>): Promise<T> {
    const done = conversation.queue.then(work)
    conversation.queue = done.catch(async () => {
      // The log in the store is the truth: the next call reads it again.
      known.drop(conversation)
      await conversation.log.abandon().catch(plan.onError)
    })
    return done
  }

  return {
    store: plan.store,
    async judge(request) {
      try {
        checkRequest(request)
        const conversation = known.find(request.session, request.history)
        return await inOrder(conversation, () => judgeIn(conversation, request))
      } catch (error) {
        plan.onError(error)
        const session = request?.session ?? ''
        if (plan.mode === 'shadow') return { decision: 'allow', session }
        return { decision: 'deny', reason: 'The policy failed to check this call, so the call did not run.', session }
      }
    },
    async close() {
      for (const conversation of known.all()) {
        const { log, tools } = conversation
        if (tools) await inOrder(conversation, () => closeLog(plan, log, tools)).catch(plan.onError)
      }
      if (plan.ownsStore) await plan.store.close()
    },
  }
}

const noDefinitions: ToolDefinitions = Object.freeze({})

function checkRequest(request: JudgeRequest): void {
  const given: unknown = request
  const call = isRecord(given) ? given['call'] : undefined
  if (
    !isRecord(given) ||
    !isRecord(call) ||
    typeof call['id'] !== 'string' ||
    typeof call['name'] !== 'string' ||
    !Array.isArray(given['history']) ||
    given['history'].length > mostMessages
  )
    throw new ProvostError('invalid-argument', 'A call to judge needs an id, a name, and a history of messages.', {
      hint: `Pass { call: { id, name, input }, history }, with at most ${mostMessages} messages.`,
    })
}

/** Records what is new in a history. Returns whether anything is. */
async function follow(
  plan: GuardPlan,
  conversation: GuardedConversation,
  history: readonly ModelMessage[],
  tools: KnownTools,
): Promise<boolean> {
  const { log, seen } = conversation
  recall(conversation)
  const { fresh, lost, kept, added } = compareHistory(seen, history)
  if (added.length === 0 && kept === seen.length) return false
  const recorder = {
    log,
    tools,
    agent: plan.name,
    trustsStored: plan.history === 'own',
    endRun: () => endRun(plan, log, tools),
  }
  await recordHistory(recorder, fresh)
  if (lost > 0) recordChange(recorder, lost, fresh.filter(({ source }) => source === 'inserted').length)
  const isContinued = kept === seen.length
  seen.length = kept
  seen.push(...added)
  conversation.hash = isContinued ? chainAfter(conversation.hash, added) : chainAfter('', seen)
  log.addHere('seen', {
    type: 'ext',
    name: guardName,
    key: `seen/${log.nextOffset()}`,
    data: { kept, prints: added.map(({ print }) => print) },
  })
  return true
}

/** Reads what this process did not see itself: a log that another process has written. */
function recall(conversation: GuardedConversation): void {
  const { log, seen } = conversation
  const { entries } = log.state
  for (; conversation.read < entries.length; conversation.read++) {
    const entry = entries[conversation.read]
    if (entry?.type !== 'ext' || entry.name !== guardName || !isRecord(entry.data)) continue
    const { kept, prints } = entry.data
    if (typeof kept !== 'number' || !Array.isArray(prints)) continue
    seen.length = Math.min(kept, seen.length)
    for (const print of prints) seen.push({ print: String(print), marks: [] })
    conversation.hash = chainAfter('', seen)
  }
}

async function closeLog(plan: GuardPlan, log: GuardLog, tools: KnownTools): Promise<void> {
  await log.acquire()
  await finishRun({ log, endRun: () => endRun(plan, log, tools) })
  await log.commit()
}

async function endRun(plan: GuardPlan, log: GuardLog, { infos }: KnownTools): Promise<void> {
  const { run } = log.state
  if (!run) return
  const result: RunResult = {
    ...{ status: 'completed', output: '', text: '', messages: [], usage: { byModel: {} } },
    ...{ pending: noPendingWork, runId: run.id, sessionId: log.session },
    state: {
      ...{ v: 1, manifest: run.manifest, agent: plan.name },
      cursor: { sessionId: log.session, runId: run.id, offset: log.nextOffset() - 1 },
      toJSON: () => null,
    },
  }
  for (const extension of [plan.policy, plan.chain]) {
    await extension.hooks['run.end']?.(result, guardContext({ log, plan, tools: infos }, extension))
  }
}
