import { randomUUID } from 'node:crypto'

import type { Extension, Fold, HookContext, Json, Label, View } from '@provost/core'
import {
  ProvostError,
  emitted,
  eventTypesWith,
  isEventType,
  isRecord,
  liveFields,
  positionId,
  toJson,
} from '@provost/core'
import { modelName, windowOf } from '@provost/provider'

import { runPaced } from '../control/paced-work.ts'
import { report } from '../control/report.ts'
import { selectModel } from '../prompt/select-model.ts'
import { newEntry } from '../state/entry.ts'
import { callOf } from '../state/session-state.ts'
import { peersIn } from '../tree/reservations.ts'
import type { ContextFor } from '../types/hooks.ts'
import type { EntryContext, Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import { foldInSteps, foldNow } from './fold-value.ts'
import { generate } from './generate.ts'
import { hookSignal, withinLimit } from './hook-time.ts'

interface CachedContext {
  readonly fixed: FixedContext
  readonly context: HookContext
  /** The context for the last `shown` label: consecutive results of tools tend to carry the same label. */
  withPayload?: { readonly shown: Label; readonly context: HookContext }
}

/** Returns the factory of the contexts that a run hands to hooks. */
export function hookContexts(scope: () => RunContext): ContextFor {
  const known = new Map<Extension, CachedContext>()
  const live = (extension: Extension, context: FixedContext): HookContext =>
    runContextView(context, { ctx: scope(), extension })

  function payloadContextOf(one: CachedContext, extension: Extension, shown: Label): HookContext {
    if (one.withPayload?.shown !== shown) {
      const ask: HookContext['generate'] = (request: Parameters<HookContext['generate']>[0]) =>
        generate(scope(), extension, request, shown)
      one.withPayload = { shown, context: live(extension, { ...one.fixed, generate: ask }) }
    }
    return one.withPayload.context
  }

  return (extension, changes, shown) => {
    let one = known.get(extension)
    if (!one) {
      const fixed = fixedContext(extension, scope())
      // A copy: sharing one base object would keep it alive for the whole run.
      known.set(extension, (one = { fixed, context: live(extension, { ...fixed }) }))
    }
    const context = shown ? payloadContextOf(one, extension, shown) : one.context
    return changes ? live(extension, { ...one.fixed, generate: context.generate, ...changes }) : context
  }
}

/**
 * Returns the context of an observer. The observer does not receive events that it emits in reaction to an event.
 *
 * @param by the observers that do not receive what it emits.
 * @param skippedObservers the observers that do not receive what it reports.
 */
export function observerContext(
  ctx: RunContext,
  extension: Extension,
  by: Reaction,
  skippedObservers: Reaction,
): HookContext {
  return ctx.contextFor(extension, {
    emit: (...args: readonly unknown[]): void => emitFor(ctx, extension, args, by),
    report: (thrown, name) => report(ctx, thrown, { kind: 'listener', name }, skippedObservers),
    audit: (decision, row) => auditFor(ctx, extension, decision, row, by),
  })
}

type FixedContext = Omit<HookContext, keyof RunContextView>

/** Returns the parts of a context that stay the same during a run. */
function fixedContext(extension: Extension, ctx: RunContext): FixedContext {
  const { state, logWriter, options } = ctx
  // Only this run's principal: the previous run of the session may have another.
  const principal = options.principal ?? (state.run?.id === ctx.id ? state.run.principal : undefined)
  const memos = new Map<string, Promise<Json>>()
  /** The current step: the log records it only after the model has answered. */
  const here = (): EntryContext => ({ ...logWriter.entryContext(), step: ctx.step })

  const clean = (text: string): string => ctx.secrets.scrubber.scrub(text)

  function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
  function memo(key: string, fn: () => unknown): Promise<Json> {
    const name = `${ctx.id}/${extension.name}/${clean(key)}`
    const known = state.memos.get(name)
    if (known !== undefined) return Promise.resolve(known)
    let value = memos.get(name)
    if (!value) {
      value = (async () => {
        const made = toJson(await fn())
        await logWriter.append([newEntry(here(), `${name}/memo`, { type: 'memo', key: name, value: made })])
        return state.memos.get(name) ?? made
      })()
      memos.set(name, value)
      // A failed memo may be retried.
      value.catch(() => memos.delete(name))
    }
    return value
  }

  const run = {
    id: ctx.id,
    sessionId: ctx.sessionId,
    rootId: ctx.parentRun?.rootId ?? ctx.id,
    parents: ctx.parentRun?.parents ?? [],
    ...(principal && { principal }),
    ...(ctx.parentRun?.grant && { grant: ctx.parentRun.grant }),
  }
  return {
    ...(principal && { principal }),
    context: options.context,
    run: ofRun(run, ctx),
    fold: <S>(fold: Fold<S>): S => foldNow(state, fold),
    foldInTurns: (fold) => runPaced(foldInSteps(state, fold), ctx.signal),
    inTurns: (work) => runPaced(work, ctx.signal),
    blob: (hash) => ctx.agent.store.blob(hash),
    putBlob: (bytes) => ctx.agent.store.putBlob(ctx.secrets.scrubber.scrubBytes(bytes)),
    scrub: clean,
    memo,
    async append(name, data) {
      const key = clean(name)
      const id = positionId(ctx.id, ctx.step, `ext/${extension.name}`, key)
      await logWriter.append([newEntry(here(), id, { type: 'ext', name: extension.name, key, data: toJson(data) })])
    },
    audit: (decision, row) => auditFor(ctx, extension, decision, row),
    emit(...args: readonly unknown[]) {
      emitFor(ctx, extension, args)
    },
    reserve: (id, most) => ctx.reservations.set(id, extension.name, most),
    reserved: (id) => (id === undefined ? ctx.reservations.total() : ctx.reservations.of(id)),
    within: (timeoutMs, work) => withinLimit(ctx, extension, timeoutMs, work),
    generate: (request: Parameters<HookContext['generate']>[0]) => generate(ctx, extension, request),
    report: (thrown, listener) => report(ctx, thrown, { kind: 'listener', name: listener }),
    stop: (code, message, hint) => ({ stop: { code, message, ...(hint !== undefined && { hint }) } }),
    now: () => state.clock.now(),
    uuid: () => randomUUID(),
  }
}

const ofRun = liveFields<RunContext, Pick<HookContext['run'], 'remaining' | 'step' | 'attempt'>>({
  remaining: (ctx) => ctx.remaining(),
  step: ({ step }) => step,
  attempt: ({ attempt }) => attempt,
})

interface Scoped {
  readonly ctx: RunContext
  readonly extension: Extension
}

type RunContextView = Pick<
  HookContext,
  'session' | 'signal' | 'tree' | 'agent' | 'tools' | 'intent' | 'instructions' | 'view'
>

const runContextView = liveFields<Scoped, RunContextView>({
  session({ ctx }) {
    const { ephemeral, private: owned } = ctx.agent.store
    return { id: ctx.sessionId, ...(ephemeral && { ephemeral }), ...(owned && { private: owned }) }
  },
  // A tree-scoped extension stays active after a handoff, so the agent may change.
  agent({ ctx }) {
    const { name, description } = ctx.agent
    return { name, ...(description !== undefined && { description }) }
  },
  signal: ({ ctx, extension }) => hookSignal(ctx, extension),
  tree: ({ ctx }) => peersIn(ctx.tree),
  tools: ({ ctx }) => ctx.agent.infos,
  intent: ({ ctx }) => Object.freeze([...(ctx.parentRun?.userMessages() ?? []), ...ctx.state.userMessages]),
  instructions: ({ ctx }) => ctx.instructions,
  view: ({ ctx }) => viewOf(ctx),
})

/** Returns the view of the next model call. Its messages are a frozen copy, made on access. */
function viewOf(ctx: RunContext): View {
  const { state } = ctx
  const model = modelName(selectModel(ctx))
  const window = windowOf(model)
  const fixed = { label: state.viewLabel, model, ...(window !== undefined && { window }), trigger: ctx.viewTrigger }
  return Object.freeze(ofView(fixed, ctx))
}

const ofView = liveFields<RunContext, Pick<View, 'messages' | 'tokens' | 'overhead'>>({
  messages: ({ state }) => Object.freeze([...state.view]),
  tokens: (ctx) => ctx.contextSize.messages(ctx),
  overhead: (ctx) => ctx.contextSize.overhead(ctx),
})

async function auditFor(
  ctx: RunContext,
  extension: Extension,
  decision: Parameters<HookContext['audit']>[0],
  row: Parameters<HookContext['audit']>[1],
  by?: Reaction,
): Promise<void> {
  const { logWriter, state, step } = ctx
  const id = positionId(ctx.id, step, `audit/${extension.name}`, `${state.offset}.${ctx.auditCount++}`)
  const { rule, callId, sources, evidence } = row
  const call = callId !== undefined && state.run && callOf(state.run, callId)
  const sandbox = call ? ctx.agent.info(call.part.toolName).sandbox : undefined
  const body = {
    type: 'audit',
    decision,
    by: extension.name,
    rule,
    ...(callId !== undefined && { callId }),
    sources,
    evidence: toJson(evidence),
    ...(sandbox && { sandbox }),
  } as const
  await logWriter.append([newEntry({ ...logWriter.entryContext(), step }, id, body)], by)
}

function emitFor(ctx: RunContext, extension: Extension, args: readonly unknown[], by?: Reaction): void {
  const [first, payload] = args
  if (payload === undefined || typeof first !== 'string') {
    const own = emitted(payload === undefined ? [first] : args)
    ctx.logWriter.emit('extension', { name: extension.name, ...own }, ctx.step, by)
  } else if (isEventType(first) && emittable.has(first)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the overloads of `emit` tie the payload to the type
    ctx.logWriter.emit(first, withoutEnvelope(toJson(payload)) as never, ctx.step, by)
  } else {
    throw new ProvostError('not-emittable', `${extension.name} may not emit ${first.slice(0, 100)}.`, {
      hint: `Emit custom data with ctx.emit(data), an event of defineEvent(name), or one of ${[...emittable].join(', ')}.`,
    })
  }
}

/** Drops the envelope fields: a payload must not set them. */
function withoutEnvelope(payload: Json): unknown {
  const fields = isRecord(payload) ? Object.entries(payload) : []
  return Object.fromEntries(fields.filter(([key]) => !frame.has(key)))
}

const frame: ReadonlySet<string> = new Set(['seq', 'type', 'runId', 'step', 'agent', 'parents', 'at'])

/** All other events are reserved for the runtime. */
const emittable = eventTypesWith('emittable')
