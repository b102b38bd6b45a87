import { hash } from 'node:crypto'

import type {
  CompositeContext,
  Decisions,
  Extension,
  Json,
  Message,
  OnApproval,
  Principal,
  SessionStore,
  Tool,
} from '@provost/core'
import { ProvostError, canonicalJson, relayProvider, toJson } from '@provost/core'
import { linkWork } from '@provost/sessions'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { resolveAgent } from '../definition/resolved-agent.ts'
import { hookTable } from '../hooks/hook-table.ts'
import { readLog } from '../log/log-snapshot.ts'
import { foldLog } from '../reducers/reducer.ts'
import { PendingInputError } from '../result/pending-input-error.ts'
import { cursorOf, localState } from '../result/run-state-data.ts'
import { startRun } from '../run/start-run.ts'
import { governingOf } from '../session/session-runner.ts'
import type { AgentOptions } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { Session } from '../types/session.ts'
import { stubModel } from './stub-model.ts'

/** Options for work that runs as a composite call without a calling agent. */
export interface StandaloneOptions {
  /** The kind of work, which is the name of its tool. */
  readonly name: string
  /** Options of the agent that the work is for. Its tree-scoped extensions, store and secrets apply. */
  readonly agent?: AgentOptions | undefined
  /** Additional extensions. */
  readonly extensions?: readonly Extension<unknown>[] | undefined
  readonly store?: SessionStore | undefined
  /**
   * The session that the work is for, and a key that identifies the work in it. Interrupted work resumes.
   */
  readonly within?: { readonly session: Session<unknown, never>; readonly same: Json } | undefined
  /** Whether `session.compensate` of that session undoes the effects of the work. */
  readonly hasEffects?: boolean
  readonly signal?: AbortSignal | undefined
  readonly principal?: Principal | undefined
  readonly context?: unknown
  readonly onApproval?: OnApproval | undefined
  /** Decisions on earlier waits of the work. */
  readonly decisions?: Decisions | undefined
  readonly maxParallelTools?: number
  /** Tools that the work calls. */
  readonly tools?: readonly Tool[]
}

/** Returns the id of the log of work for a session. */
export function standaloneLog(session: Pick<Session, 'id'>, name: string, same: Json): string {
  return `${session.id}/${name}/${hash('sha256', canonicalJson(same)).slice(0, 32)}`
}

/**
 * Runs work as the only call of a run: with a log, children, budgets and governance like any composite.
 *
 * @param outputOf returns what the log and traces have as the result of the call. Default: that it is done.
 * @throws ProvostError the error of the work; `aborted`; PendingInputError if a child waits and no handler answers.
 */
export async function runStandalone<T>(
  options: StandaloneOptions,
  work: (ctx: CompositeContext) => Promise<T>,
  outputOf: (value: T) => unknown = () => 'done',
): Promise<T> {
  const { name, agent, within, signal, principal, context, onApproval, decisions, maxParallelTools } = options
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined
  const composite = tool({
    name,
    input: z.object({}),
    composite: true,
    effect: 'none',
    timeoutMs: 2 ** 31 - 1,
    async execute(_, ctx) {
      try {
        outcome = { value: await work(ctx) }
        const { value } = outcome
        // Recorded in case the process crashes before the run ends. A value that is not JSON stays in this process.
        if (within) await ctx.memo(outcomeKey, () => toJson(value)).catch(() => {})
        return shownOf(outputOf(value))
      } catch (error) {
        outcome = { error }
        throw error
      }
    },
  })
  const { store = agent?.store, runtime, secrets, leaseMs, prices, hookTimeoutMs } = { ...agent, ...options }
  const governing = within && governingOf(within.session)
  const alone = resolveAgent({
    name: agent?.name ?? name,
    model: stubModel(name),
    tools: [composite, ...(options.tools ?? [])],
    extensions: [
      ...new Set([...(agent?.extensions ?? []), ...(options.extensions ?? []), ...(governing?.extensions ?? [])]),
    ].filter(({ scope }) => scope === 'tree'),
    ...(store && { store }),
    ...(runtime && { runtime }),
    ...(secrets && { secrets }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(hookTimeoutMs !== undefined && { hookTimeoutMs }),
    ...(maxParallelTools !== undefined && { maxParallelTools }),
    prices: { ...prices, [`${relayProvider}/${name}`]: { input: 0, output: 0 } },
  })
  // The listeners decide on calls of the work and its children, not on the work itself, which no model requested.
  const listeners = governing ? [governing.judge] : []
  const resolved: ResolvedAgent = Object.create(alone, {
    listeners: { value: listeners, enumerable: true },
    hooks: { value: hookTable([...alone.extensions, ...listeners.map(withoutWork)]), enumerable: true },
  })
  const sessionId = within && standaloneLog(within.session, name, within.same)
  const past = sessionId === undefined ? undefined : foldLog(await readLog(resolved.store, sessionId))
  const { run } = past ?? {}
  const broken = past && run && (run.status === 'running' || run.status === 'suspended')
  const start = broken
    ? { resume: localState<string>(run.manifest, cursorOf(past, sessionId ?? '', run.id)), fromOwnLog: true as const }
    : { input: name }
  if (within && sessionId !== undefined && options.hasEffects)
    await linkWork(resolved.store, within.session.id, sessionId)
  const result = await startRun<string>(
    resolved,
    start,
    {
      ...(sessionId !== undefined && { sessionId }),
      ...(signal && { signal }),
      ...(principal && { principal }),
      ...(onApproval && { onApproval }),
      ...(broken && decisions),
      context,
    },
    false,
  ).result
  // The work of a suspended run has been rejected, or is about to be.
  if (result.status === 'suspended') throw new PendingInputError(name, result.pending, within !== undefined)
  if (outcome && 'error' in outcome) throw outcome.error
  if (outcome && result.status === 'completed') return outcome.value
  if (broken && result.status === 'completed') {
    const { memos, messages } = foldLog(await readLog(resolved.store, sessionId ?? ''))
    const key = `${onlyCallIn(messages, name)}/memo/${outcomeKey}`
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the recorded outcome of the same work, as JSON
    if (memos.has(key)) return memos.get(key) as T
  }
  if (result.status === 'failed') throw result.error
  throw new ProvostError('aborted', `${name} was aborted.`, { hint: 'Start it again.' })
}

/** A value that is not JSON stays in this process. */
function shownOf(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return 'done'
  }
}

/** Returns an extension that decides on all calls except the one of the model. */
function withoutWork(extension: Extension): Extension {
  const { 'tool.call': judge } = extension.hooks
  return {
    ...extension,
    hooks: { 'tool.call': (call, ctx) => (call.parentCallId === undefined ? undefined : judge?.(call, ctx)) },
  }
}

/** Returns the id of the call that the stub model makes: the last one of the tool. */
function onlyCallIn(messages: readonly Message[], toolName: string): string | undefined {
  const parts = messages.flatMap(({ content }) => content)
  const call = parts.findLast((part) => part.type === 'tool-call' && part.toolName === toolName)
  return call?.type === 'tool-call' ? call.callId : undefined
}

/** The memo key of the outcome in the log. */
const outcomeKey = 'outcome'
