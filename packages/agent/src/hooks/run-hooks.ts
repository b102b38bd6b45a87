import type { Extension, HookContext, HookName, Hooks, Label, MaybePromise, Stop } from '@provost/core'
import { ProvostError, isPromise, isRecord } from '@provost/core'

import { yieldForBytes } from '../control/paced-work.ts'
import { report, reportEnding } from '../control/report.ts'
import { hookFailed, stopped } from '../control/run-ending.ts'
import type { ContextChanges, Hooked } from '../types/hooks.ts'
import type { RunContext } from '../types/run-context.ts'
import { inHookTime } from './hook-time.ts'
import type { ThrowMeaning } from './on-throw.ts'
import { onThrow } from './on-throw.ts'

/** Every hook has a row in `onThrow`: the compiler checks it here. */
const meanings: Readonly<Record<HookName, ThrowMeaning>> = onThrow

/** The hooks that a run calls in order and waits for. */
type RunHook = Exclude<HookName, 'around' | 'event' | 'session.stop'>

type HookOf<K extends RunHook> = NonNullable<Hooks[K]>

type AnswerOf<K extends RunHook> = Exclude<Awaited<ReturnType<HookOf<K>>>, void | undefined>

/** What a pipeline handles. The runner itself ends the run where a `fail-run` hook answers with a stop. */
type Handled<K extends RunHook> = (typeof onThrow)[K] extends 'fail-run' ? Exclude<AnswerOf<K>, Stop> : AnswerOf<K>

/** How the hooks of one name are called. `S` is the state of the pipeline. */
interface Calls<K extends RunHook, S> {
  /** The hooks to call. Default: those of the active agent. */
  readonly hooks?: readonly Hooked<K>[] | undefined
  /** Members of the context that are replaced. */
  readonly changes?: ContextChanges | undefined
  /** Whether a hook may answer with a string. */
  readonly text?: true
  call(hook: HookOf<K>, hookContext: HookContext, state: S): ReturnType<HookOf<K>>
  /** Whether the later hooks are skipped. */
  ends?(state: S): boolean
  /** Returns the label of what a hook receives, where the view does not contain it. */
  shown?(state: S): Label | undefined
  /** Returns the bytes that a hook receives. The runner yields to the event loop before a large value. */
  bytes?(state: S): number
  /** Shortens the wait for an asynchronous answer. */
  wait?<T>(answer: PromiseLike<T>): Promise<T | undefined>
}

interface Decides<K extends RunHook, S> {
  /** Returns the state after an answer. A throw counts as a throw of the hook. */
  answered(answer: Handled<K>, state: S, by: Extension): MaybePromise<S>
}

interface Refuses<S> {
  /** Returns the state after a hook has failed: what the hook checks is denied or withheld. */
  failed(state: S, by: Extension): S
}

/** What a pipeline has to state for each meaning of a throw. */
interface Handlers<K extends RunHook, S> {
  readonly 'fail-run': Decides<K, S>
  readonly reject: Decides<K, S>
  readonly report: object
  readonly deny: Decides<K, S> & Refuses<S>
  readonly withhold: Decides<K, S> & Refuses<S>
}

/** The hooks of one name as a pipeline. Where a throw denies or withholds, it has to state the result of a failure. */
type HookPipeline<K extends RunHook, S> = Calls<K, S> & Handlers<K, S>[(typeof onThrow)[K]]

/** A pipeline of any meaning. */
type AnyPipeline<K extends RunHook, S> = Calls<K, S> & Partial<Decides<K, S> & Refuses<S>>

/**
 * Runs the hooks of one name in extension order, each within the time limit of its agent. The table `onThrow` states what
 * a throw, an invalid answer or a time-out means.
 *
 * @param state the state before the first hook.
 * @returns the state after the last hook; no promise if all hooks answer synchronously.
 * @throws RunEnding where a hook stops the run, or fails and `onThrow` says `fail-run`; ProvostError `hook-failed` where it
 *   says `reject`.
 */
export function runHooks<K extends RunHook, S>(
  ctx: RunContext,
  name: K,
  state: S,
  pipeline: HookPipeline<K, S>,
): MaybePromise<S> {
  const hooks: readonly Hooked<K>[] = pipeline.hooks ?? ctx.agent.hooks[name]
  if (hooks.length === 0) return state
  const calls: AnyPipeline<K, S> = pipeline
  const meaning = meanings[name]
  let denied = false
  return inOrder(hooks, state, {
    ask(hooked, now) {
      const others = calls.bytes && yieldForBytes(calls.bytes(now))
      return others ? others.then(() => ask(ctx, name, calls, hooked, now)) : ask(ctx, name, calls, hooked, now)
    },
    failed(thrown, { extension }, now) {
      if (meaning !== 'report' && !calls.failed) {
        const ending = hookFailed(ctx, extension.name, name, thrown)
        if (meaning !== 'reject') throw ending
        // The operation rejects with the error itself, which application code receives.
        if (ending.status === 'failed') reportEnding(ctx, ending)
        throw ending.thrown ?? ending
      }
      const hook = { kind: 'hook', name: extension.name } as const
      report(ctx, thrown, hook, undefined, `the ${name} hook of ${extension.name}`)
      denied = meaning === 'deny'
      return calls.failed ? calls.failed(now, extension) : now
    },
    ends: (now) => denied || (calls.ends?.(now) ?? false),
  })
}

function ask<K extends RunHook, S>(
  ctx: RunContext,
  name: K,
  calls: AnyPipeline<K, S>,
  { extension, hook }: Hooked<K>,
  state: S,
): S | PromiseLike<S> {
  const hookContext = ctx.contextFor(extension, calls.changes, calls.shown?.(state))
  const read = (answer: unknown): MaybePromise<S> => {
    if (!answer || !calls.answered) return state
    if (typeof answer !== 'object' && !(calls.text && typeof answer === 'string')) throw invalidAnswer(extension, name)
    if (onThrow[name] === 'fail-run' && isStop(answer)) throw stopped(answer, extension)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the answer of a hook of this name
    return calls.answered(answer as Handled<K>, state, extension)
  }
  const answer = inHookTime<unknown>(ctx, extension, name, calls.call(hook, hookContext, state))
  if (!isPromise(answer)) return read(answer)
  return (calls.wait ? calls.wait(answer) : answer).then(read)
}

/** For untyped hooks: an invalid answer counts as a throw. */
export function invalidAnswer({ name }: Extension, hook: HookName): ProvostError {
  return new ProvostError('invalid-answer', `The ${hook} hook of ${name} returned an invalid answer.`, {
    hint: `Return an answer that the type Hooks['${hook}'] lists. Return undefined to leave everything unchanged.`,
  })
}

function isStop(answer: unknown): answer is Stop {
  return isRecord(answer) && 'stop' in answer
}

/** How hooks are called in order. */
interface Order<H, S> {
  /** Calls a hook. Returns the state after its answer. */
  ask(hooked: H, state: S): S | PromiseLike<S>
  /** Returns the state after a throw. */
  failed(thrown: unknown, hooked: H, state: S): S
  /** Whether the later hooks are skipped. */
  ends?(state: S): boolean
}

/** Calls hooks one after the other; synchronously up to the first hook that answers with a promise. */
export function inOrder<H, S>(hooks: readonly H[], state: S, order: Order<H, S>): MaybePromise<S> {
  let now = state
  let called = 0
  for (const hooked of hooks) {
    try {
      const next = order.ask(hooked, now)
      if (isPromise(next)) return inOrderFrom(hooks.slice(called), now, order, next)
      now = next
    } catch (thrown) {
      now = order.failed(thrown, hooked, now)
    }
    if (order.ends?.(now)) return now
    called++
  }
  return now
}

/** @param first the pending answer of the first hook. */
async function inOrderFrom<H, S>(
  hooks: readonly H[],
  state: S,
  { ask: call, failed, ends }: Order<H, S>,
  first: PromiseLike<S>,
): Promise<S> {
  let now = state
  let pending: PromiseLike<S> | undefined = first
  for (const hooked of hooks) {
    try {
      const next: S | PromiseLike<S> = pending ?? call(hooked, now)
      pending = undefined
      now = isPromise(next) ? await next : next
    } catch (thrown) {
      now = failed(thrown, hooked, now)
    }
    if (ends?.(now)) break
  }
  return now
}
