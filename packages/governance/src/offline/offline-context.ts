import type { SessionState } from '@provost/agent'
import { foldNow } from '@provost/agent/internal'
import type {
  ApprovalDecision,
  Entry,
  EntryBody,
  Extension,
  HookContext,
  Json,
  MaybePromise,
  View,
} from '@provost/core'
import { finish, ProvostError, toJson } from '@provost/core'

import type { KnownAgents } from './known-agents.ts'

/** A row that a policy would add to the audit. */
export type OfflineRow = Parameters<HookContext['audit']>[1] & {
  readonly decision: Parameters<HookContext['audit']>[0]
}

/** A recorded run, as a policy sees it. */
export interface OfflineRun {
  readonly id: string
  readonly session: string
  readonly parent?: OfflineRun
  /** The state of the run's log, and the entries that the policy adds to it. */
  readonly state: SessionState
  readonly agents: KnownAgents
  readonly blobs: ReadonlyMap<string, string>
  /** What the policy asked for and the record does not have. */
  readonly missing: Set<string>
  readonly rows: OfflineRow[]
  /** Adds an entry of the policy to the state. */
  append(id: string, body: EntryBody): void
}

/** Ids of the runs above a run, the nearest first. */
function parentsOf({ parent }: OfflineRun): readonly string[] {
  return parent ? [parent.id, ...parentsOf(parent)] : []
}

function userMessages({ parent, state }: OfflineRun): HookContext['intent'] {
  return [...(parent ? userMessages(parent) : []), ...state.userMessages]
}

/**
 * Returns the context of a hook at this position of a recorded run. Nothing is called: what the log does not have is added
 * to `missing`, so that the verdict does not count.
 */
export function offlineContext(
  run: OfflineRun,
  extension: Extension<unknown>,
  approval?: ApprovalDecision,
): HookContext {
  const { state, missing } = run
  const parents = parentsOf(run)
  const principal = state.run?.principal
  const lacks = (what: string): ProvostError => {
    missing.add(what)
    return new ProvostError('not-recorded', `The log does not have ${what}.`, {
      hint: 'Judge this call in a live run, or use a policy that does not need it.',
    })
  }
  const known = () => run.agents.get(state.agent)
  const now = (): number => state.entries.at(-1)?.at ?? 0

  async function memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  async function memo(key: string, fn: () => unknown): Promise<Json> {
    const name = `${run.id}/${extension.name}/${key}`
    const recorded = state.memos.get(name)
    if (recorded !== undefined) return recorded
    const value = toJson(await fn())
    run.append(`${name}/memo`, { type: 'memo', key: name, value })
    return value
  }

  return {
    session: { id: run.session },
    get agent() {
      return { name: state.agent }
    },
    ...(principal && { principal }),
    signal: new AbortController().signal,
    get context() {
      throw lacks('the app value of the run')
    },
    run: {
      id: run.id,
      sessionId: run.session,
      rootId: parents.at(-1) ?? run.id,
      parents,
      get step() {
        return state.run?.step ?? 0
      },
      attempt: 1,
      ...(principal && { principal }),
    },
    tree: { running: 1, reserving: 0 },
    get tools() {
      return known()?.tools ?? []
    },
    get intent() {
      return userMessages(run)
    },
    get instructions() {
      const recorded = state.memos.get(`${run.id}/${state.agent}/instructions`)
      if (typeof recorded === 'string') return recorded
      const agent = known()
      if (agent?.instructed) throw lacks('the instructions of the agent')
      return agent?.instructions ?? ''
    },
    get view(): View {
      return {
        messages: state.view,
        label: state.viewLabel,
        model: known()?.modelName ?? '',
        get tokens(): number {
          throw lacks('the size of the view')
        },
        get overhead(): number {
          throw lacks('the size of the request')
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
      const id = `${run.id}/${state.run?.step ?? 0}/ext/${extension.name}/${key}`
      run.append(id, { type: 'ext', name: extension.name, key, data: toJson(data) })
    },
    async audit(decision, row) {
      run.rows.push({ ...row, decision })
    },
    async blob(hash) {
      const bytes = run.blobs.get(hash)
      return bytes === undefined ? undefined : Buffer.from(bytes, 'base64')
    },
    async putBlob() {
      throw lacks('a place for new blobs')
    },
    scrub: (text) => text,
    emit() {},
    reserve() {},
    reserved: () => ({ tokens: 0, toolCalls: 0, cost: 0, steps: 0 }),
    async within() {
      throw lacks('the answer of a service that the policy calls')
    },
    async generate() {
      throw lacks('the answer of a model that the policy calls')
    },
    report(thrown) {
      missing.add(
        `a callback of the policy, which failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      )
    },
    stop: (code, message, hint) => ({ stop: { code, message, ...(hint !== undefined && { hint }) } }),
    now,
    uuid() {
      throw lacks('random ids')
    },
  }
}

/** Returns an entry of the policy after the last one of a state. */
export function entryAfter(state: SessionState, runId: string, id: string, body: EntryBody): Entry {
  const last = state.entries.at(-1)
  const place = { offset: last?.offset ?? 0, at: last?.at ?? 0, runId, step: state.run?.step ?? 0, agent: state.agent }
  return { id, ...place, v: 1, ...body }
}
