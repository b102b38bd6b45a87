import { randomUUID } from 'node:crypto'

import { foldNow, newEntry, placeOf } from '@provost/agent/internal'
import type { ApprovalDecision, Extension, HookContext, Json, MaybePromise, ToolInfo, View } from '@provost/core'
import { finish, positionId, ProvostError, toJson } from '@provost/core'

import type { GuardPlan } from '../definition/guard-options.ts'
import type { GuardLog } from './guard-log.ts'

/** What a context shows beside the log. */
export interface GuardScene {
  readonly log: GuardLog
  readonly plan: Pick<GuardPlan, 'name' | 'instructions' | 'onError'>
  readonly tools: readonly ToolInfo[]
}

/**
 * Returns the context of a hook on the log of a loop elsewhere. Entries of the extension go to that log. What only a run of
 * Provost has fails with `not-in-a-guard`, so that a policy that needs it denies.
 */
export function guardContext(
  { log, plan, tools }: GuardScene,
  extension: Extension<unknown>,
  approval?: ApprovalDecision,
): HookContext {
  const { state } = log
  const runId = state.run?.id ?? ''

  async function memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  async function memo(key: string, fn: () => unknown): Promise<Json> {
    const name = `${runId}/${extension.name}/${key}`
    const recorded = state.memos.get(name)
    if (recorded !== undefined) return recorded
    const value = toJson(await fn())
    log.add([newEntry(placeOf(state), `${name}/memo`, { type: 'memo', key: name, value })])
    return value
  }

  return {
    session: { id: log.session },
    agent: { name: plan.name },
    signal: new AbortController().signal,
    get context() {
      throw missing('the app value of the run')
    },
    run: {
      id: runId,
      sessionId: log.session,
      rootId: runId,
      parents: [],
      step: state.run?.step ?? 0,
      attempt: 1,
    },
    tree: { running: 1, reserving: 0 },
    tools,
    get intent() {
      return Object.freeze([...state.userMessages])
    },
    instructions: plan.instructions,
    get view(): View {
      return {
        messages: state.view,
        label: state.viewLabel,
        model: '',
        get tokens(): number {
          throw missing('the size of the view')
        },
        get overhead(): number {
          throw missing('the size of the request')
        },
        trigger: 'step',
      }
    },
    ...(approval && { approval }),
    fold: (fold) => foldNow(state, fold),
    foldInTurns: (fold) => foldNow(state, fold),
    inTurns: finish,
    memo,
    async append(key, data) {
      const { step } = placeOf(state)
      const id = positionId(runId, step, `ext/${extension.name}`, key)
      log.add([newEntry(placeOf(state), id, { type: 'ext', name: extension.name, key, data: toJson(data) })])
    },
    async audit(decision, { rule, callId, sources, evidence }) {
      log.addHere(`audit/${extension.name}`, {
        type: 'audit',
        decision,
        by: extension.name,
        rule,
        ...(callId !== undefined && { callId }),
        sources,
        evidence: toJson(evidence),
      })
    },
    async blob() {
      return undefined
    },
    async putBlob() {
      throw missing('a place for blobs')
    },
    scrub: (text) => text,
    emit() {},
    reserve() {},
    reserved: () => ({ tokens: 0, toolCalls: 0, cost: 0, steps: 0 }),
    async within(_, work) {
      return work(new AbortController().signal)
    },
    async generate() {
      throw missing('a model')
    },
    report: plan.onError,
    stop: (code, message, hint) => ({ stop: { code, message, ...(hint !== undefined && { hint }) } }),
    now: () => state.clock.now(),
    uuid: () => randomUUID(),
  }
}

function missing(what: string): ProvostError {
  return new ProvostError('not-in-a-guard', `A guard does not have ${what}.`, {
    hint: 'Use a rule that reads the call, its values, and the messages of the human.',
  })
}
