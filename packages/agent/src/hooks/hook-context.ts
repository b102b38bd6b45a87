import { randomUUID } from 'node:crypto'

import type { EmittedByExtensions, EventType, Extension, Fold, HookContext, Json, Label, View } from '@provost/core'
import { ProvostError, isEventType, isRecord, liveFields, positionId, toJson } from '@provost/core'
import { modelName, windowOf } from '@provost/provider'

import { inTurns } from '../control/paced-work.ts'
import { report } from '../control/report.ts'
import { selectModel } from '../prompt/select-model.ts'
import { newEntry } from '../state/entry.ts'
import { callOf, offsetOf } from '../state/session-state.ts'
import { peersIn } from '../tree/reservations.ts'
import type { ContextFor } from '../types/hooks.ts'
import type { Place, Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import { foldInSteps, foldNow } from './fold-value.ts'
import { generate } from './generate.ts'
import { hookSignal, withinLimit } from './hook-time.ts'

interface Known {
  readonly fixed: FixedContext
  readonly context: HookContext
  /** The context for the last `shown` label: consecutive results of tools tend to carry the same label. */
  knowing?: { readonly shown: Label; readonly context: HookContext }
}

/** Returns the factory of the contexts that a run hands to hooks. */
export function hookContexts(scope: () => RunContext): ContextFor {
  const known = new Map<Extension, Known>()
  const live = (extension: Extension, context: FixedContext): HookContext =>
    ofScope(context, { scope: scope(), extension })

  function knowingOf(one: Known, extension: Extension, shown: Label): HookContext {
    if (one.knowing?.shown !== shown) {
      const ask: HookContext['generate'] = (request: Parameters<HookContext['generate']>[0]) =>
        generate(scope(), extension, request, shown)
      one.knowing = { shown, context: live(extension, { ...one.fixed, generate: ask }) }
    }
    return one.knowing.context
  }

  return (extension, changes, shown) => {
    let one = known.get(extension)
    if (!one) {
      const fixed = fixedContext(extension, scope())
      // A copy: sharing one base object would keep it alive for the whole run.
      known.set(extension, (one = { fixed, context: live(extension, { ...fixed }) }))
    }
    const context = shown ? knowingOf(one, extension, shown) : one.context
    return changes ? live(extension, { ...one.fixed, generate: context.generate, ...changes }) : context
  }
}

/**
 * Returns the context of an observer. The observer does not receive events that it emits in reaction to an event.
 *
 * @param by the observers that do not receive what it emits.
 * @param deaf the observers that do not receive what it reports.
 */
export function observing(scope: RunContext, extension: Extension, by: Reaction, deaf: Reaction): HookContext {
  return scope.contextFor(extension, {
    emit: (...args: readonly unknown[]): void => emitFor(scope, extension, args, by),
    report: (thrown, name) => report(scope, thrown, { kind: 'listener', name }, deaf),
    audit: (decision, row) => auditFor(scope, extension, decision, row, by),
  })
}

type FixedContext = Omit<HookContext, keyof OfScope>

/** Returns the parts of a context that stay the same during a run. */
function fixedContext(extension: Extension, scope: RunContext): FixedContext {
  const { state, journal, given } = scope
  // Only this run's principal: the previous run of the session may have another.
  const principal = given.principal ?? (state.run?.id === scope.id ? state.run.principal : undefined)
  const memos = new Map<string, Promise<Json>>()
  /** The current step: the log records it only after the model has answered. */
  const here = (): Place => ({ ...journal.place(), step: scope.step })

  const clean = (text: string): string => scope.secrets.scrubber.scrub(text)

  function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
  function memo(key: string, fn: () => unknown): Promise<Json> {
    const name = `${scope.id}/${extension.name}/${clean(key)}`
    const known = state.memos.get(name)
    if (known !== undefined) return Promise.resolve(known)
    let value = memos.get(name)
    if (!value) {
      value = (async () => {
        const made = toJson(await fn())
        await journal.append([newEntry(here(), `${name}/memo`, { type: 'memo', key: name, value: made })])
        return state.memos.get(name) ?? made
      })()
      memos.set(name, value)
      // A failed memo may be retried.
      value.catch(() => memos.delete(name))
    }
    return value
  }

  const run = {
    id: scope.id,
    sessionId: scope.sessionId,
    rootId: scope.lineage?.rootId ?? scope.id,
    parents: scope.lineage?.parents ?? [],
    ...(principal && { principal }),
    ...(scope.lineage?.grant && { grant: scope.lineage.grant }),
  }
  return {
    ...(principal && { principal }),
    context: given.context,
    run: ofRun(run, scope),
    fold: <S>(fold: Fold<S>): S => foldNow(state, fold),
    foldInTurns: (fold) => inTurns(foldInSteps(state, fold), scope.signal),
    inTurns: (work) => inTurns(work, scope.signal),
    blob: (hash) => scope.plan.store.blob(hash),
    putBlob: (bytes) => scope.plan.store.putBlob(scope.secrets.scrubber.scrubBytes(bytes)),
    scrub: clean,
    memo,
    async append(name, data) {
      const key = clean(name)
      const id = positionId(scope.id, scope.step, `ext/${extension.name}`, key)
      await journal.append([newEntry(here(), id, { type: 'ext', name: extension.name, key, data: toJson(data) })])
    },
    audit: (decision, row) => auditFor(scope, extension, decision, row),
    emit(...args: readonly unknown[]) {
      emitFor(scope, extension, args)
    },
    reserve: (id, most) => scope.reservations.set(id, extension.name, most),
    reserved: (id) => (id === undefined ? scope.reservations.total() : scope.reservations.of(id)),
    within: (timeoutMs, work) => withinLimit(scope, extension, timeoutMs, work),
    generate: (request: Parameters<HookContext['generate']>[0]) => generate(scope, extension, request),
    report: (thrown, listener) => report(scope, thrown, { kind: 'listener', name: listener }),
    stop: (code, message) => ({ stop: { code, message } }),
    now: () => Date.now(),
    uuid: () => randomUUID(),
  }
}

const ofRun = liveFields<RunContext, Pick<HookContext['run'], 'remaining' | 'step' | 'attempt'>>({
  remaining: (scope) => scope.remaining(),
  step: ({ step }) => step,
  attempt: ({ attempt }) => attempt,
})

interface Scoped {
  readonly scope: RunContext
  readonly extension: Extension
}

type OfScope = Pick<HookContext, 'session' | 'signal' | 'tree' | 'agent' | 'tools' | 'intent' | 'instructions' | 'view'>

const ofScope = liveFields<Scoped, OfScope>({
  session({ scope }) {
    const { ephemeral, private: owned } = scope.plan.store
    return { id: scope.sessionId, ...(ephemeral && { ephemeral }), ...(owned && { private: owned }) }
  },
  // A tree-scoped extension stays active after a handoff, so the agent may change.
  agent({ scope }) {
    const { name, description } = scope.plan
    return { name, ...(description !== undefined && { description }) }
  },
  signal: ({ scope, extension }) => hookSignal(scope, extension),
  tree: ({ scope }) => peersIn(scope.tree),
  tools: ({ scope }) => scope.plan.infos,
  intent: ({ scope }) => [...(scope.lineage?.intent() ?? []), ...scope.state.intent],
  instructions: ({ scope }) => scope.instructions,
  view: ({ scope }) => viewOf(scope),
})

/** Returns the view of the next model call. Its messages are copied on access. */
function viewOf(scope: RunContext): View {
  const { state } = scope
  const model = modelName(selectModel(scope))
  const window = windowOf(model)
  const fixed = { label: state.viewLabel, model, ...(window !== undefined && { window }), trigger: scope.trigger }
  return ofView(fixed, scope)
}

const ofView = liveFields<RunContext, Pick<View, 'messages' | 'tokens' | 'overhead'>>({
  messages: ({ state }) => [...state.view],
  tokens: (scope) => scope.size.messages(scope),
  overhead: (scope) => scope.size.beside(scope),
})

async function auditFor(
  scope: RunContext,
  extension: Extension,
  decision: Parameters<HookContext['audit']>[0],
  row: Parameters<HookContext['audit']>[1],
  by?: Reaction,
): Promise<void> {
  const { journal, state, step } = scope
  const id = positionId(scope.id, step, `audit/${extension.name}`, `${offsetOf(state)}.${scope.audits++}`)
  const { rule, callId, sources, evidence } = row
  const call = callId !== undefined && state.run && callOf(state.run, callId)
  const sandbox = call ? scope.plan.info(call.part.toolName).sandbox : undefined
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
  await journal.append([newEntry({ ...journal.place(), step }, id, body)], by)
}

function emitFor(scope: RunContext, extension: Extension, args: readonly unknown[], by?: Reaction): void {
  const [first, payload] = args
  if (payload === undefined) {
    scope.journal.emit('extension', { name: extension.name, data: toJson(first) }, scope.step, by)
  } else if (typeof first === 'string' && isEventType(first) && emittable.has(first)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the overloads of `emit` tie the payload to the type
    scope.journal.emit(first, withoutFrame(toJson(payload)) as never, scope.step, by)
  } else {
    throw new ProvostError('not-emittable', `${extension.name} may not emit ${String(first).slice(0, 100)}.`, {
      hint: `Emit custom data with ctx.emit(data), or one of ${[...emittable].join(', ')}.`,
    })
  }
}

/** Drops the envelope fields: a payload must not set them. */
function withoutFrame(payload: Json): unknown {
  const fields = isRecord(payload) ? Object.entries(payload) : []
  return Object.fromEntries(fields.filter(([key]) => !frame.has(key)))
}

const frame: ReadonlySet<string> = new Set(['seq', 'type', 'runId', 'step', 'agent', 'parents', 'at'])

/** The event types that extensions may emit. All others are reserved for the runtime. */
const emittable: ReadonlySet<EventType> = new Set<EmittedByExtensions>([
  'context.compacted',
  'progress.written',
  'evaluator.iteration',
  'source.cited',
  'file.generated',
])
