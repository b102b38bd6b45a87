import type { CompositeOps, Json, NestedCallOptions, Tool, ToolResult, WaitAbout } from '@provost/core'
import { ProvostError, deepFreeze, toJson } from '@provost/core'

import { fanOut } from '../children/fan-out.ts'
import { createSpawner } from '../children/spawn.ts'
import { checkCallOptions, checkFanOut, checkWait } from '../definition/known-child-options.ts'
import { memoEntry, plannedEntry } from '../entries/call-entries.ts'
import { parkingWait, resolvedEntry } from '../entries/wait-entries.ts'
import { createCancelScope } from '../operations/cancellation.ts'
import { maxCompositeDepth, depthOf, diverged, keyOf, tooDeep } from '../operations/operation-key.ts'
import type { Operation } from '../operations/operations.ts'
import { createOperations } from '../operations/operations.ts'
import { compositeStateOf } from '../reducers/composite-reducer.ts'
import { hashJson } from '../state/entry.ts'
import { canAdvance, pendingOn } from '../state/next-action.ts'
import { callOf } from '../state/session-state.ts'
import { registeredName, toolCall } from '../state/tool-call.ts'
import { recordedResult } from '../state/tool-result.ts'
import { askInProcess } from '../tools/elicitation.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { runNestedCall } from './nested-call.ts'

/** What a composite call needs from its caller. */
export interface CompositeHost {
  /** Releases its slot. */
  freeSlot(): void
  /** Called with `true` when it parks, and with `false` when it resumes. */
  onParkedChange(parked: boolean): void
  /** Whether an abort leaves a parked call parked. */
  staysParked(): boolean
  /** Whether an abort holds the call, because something within it waits for an answer from outside. */
  isHeld(): boolean
  execute(call: CallState, signal: AbortSignal): Promise<void>
  startComposite(call: CallState, signal: AbortSignal, onParkedChange: (parked: boolean) => void): CompositeCall
}

/** Creates a composite call. */
export function createCompositeCall(
  ctx: RunContext,
  call: CallState,
  parent: AbortSignal,
  host: CompositeHost,
): CompositeCall {
  const { state, logWriter, agent } = ctx
  const { callId, toolName } = call.part
  const composite = compositeStateOf(call)
  const controller = new AbortController()
  const follow = (): void => {
    const stays = operations.parked ? host.staysParked() : host.isHeld()
    if (stays) detach()
    else controller.abort(parent.reason)
  }

  const calls = new Map<string, { readonly same: string; readonly result: Promise<ToolResult> }>()
  const waits = new Map<string, Promise<Json>>()
  const memos = new Map<string, Promise<Json>>()
  const cancelScope = createCancelScope()
  let over: { readonly reason: unknown } | undefined
  let detached = false
  let fault: CompositeCall['fault']
  const nestedComposites = new Set<CompositeCall>()

  const throwIfOver = (): void => {
    if (over) throw over.reason
  }

  const operations = createOperations({
    composite,
    unlessCancelled: cancelScope.unlessCancelled,
    isOver: () => over !== undefined,
    throwIfOver,
    canStart: () => ctx.activeCalls.opened,
    onStart: () => host.freeSlot(),
    onParkedChange: (parked) => host.onParkedChange(parked),
  })

  const spawner = createSpawner(ctx, call, {
    operations,
    failRunOnError,
    throwIfOver,
    signal: controller.signal,
    isDetached: () => detached,
    hasCall: (id) => calls.has(id),
    memo: memoAt,
    wait: waitAt,
  })

  function stop(reason: unknown): void {
    if (over) return
    over = { reason }
    parent.removeEventListener('abort', follow)
    cancelScope.cancel(reason)
    controller.abort(reason)
  }

  /** Awaits work of the runtime. A runtime failure inside a composite ends the run. */
  async function failRunOnError<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (!over) {
        fault = { error }
        stop(error)
      }
      throw error
    }
  }

  async function runNested(operation: Operation, inner: CallState): Promise<void> {
    await runNestedCall(ctx, inner, {
      throwIfOver,
      untilNotWaiting: () => operations.waitUntil(operation, () => inner.stage === 'settled' || canAdvance(inner)),
      execute: (its) => host.execute(its, controller.signal),
      async runComposite(its) {
        const nested = host.startComposite(its, controller.signal, (now) => operations.setParked(operation, now))
        nestedComposites.add(nested)
        operation.recheck = nested.recheck
        try {
          await nested.ended
        } finally {
          nestedComposites.delete(nested)
          operation.recheck = undefined
        }
      },
    })
  }

  function callTool(named: string | Tool, input: unknown, { key, flow }: NestedCallOptions): Promise<ToolResult> {
    const name = typeof named === 'string' ? named : registeredName(agent, named)
    // Secrets are tokenised, so that a repeated call equals the call in the log.
    const args = deepFreeze(ctx.secrets.scrubber.tokenise(toJson(input)))
    const same = hashJson([name, args])
    const id = `${callId}/${keyOf(key, ctx)}`
    const inFlight = calls.get(id)
    const known = state.run && callOf(state.run, id)
    const before = inFlight?.same ?? (known && hashJson([known.part.toolName, known.part.input]))
    if ((before !== undefined && before !== same) || spawner.hasChild(id)) throw diverged(toolName, key)
    if (inFlight) return inFlight.result
    if (!known && depthOf(ctx, call) >= maxCompositeDepth) throw tooDeep(toolName)
    const make = async (): Promise<ToolResult> => {
      await operations.run(id, (operation) =>
        failRunOnError(
          (async () => {
            if (!known) await logWriter.append([plannedEntry(state, call, id, key, name, args, flow)])
            const inner = state.run && callOf(state.run, id)
            if (inner) await runNested(operation, inner)
          })(),
        ),
      )
      const inner = state.run && callOf(state.run, id)
      if (!inner?.settled) throw new ProvostError('tool-calls-pending', `The call ${id} has no result.`)
      return recordedResult(toolCall(agent, inner), inner.settled)
    }
    const result = make()
    calls.set(id, { same, result })
    return result
  }

  async function waitAt(id: string, about: WaitAbout): Promise<Json> {
    await operations.run(id, (operation) =>
      failRunOnError(
        (async () => {
          if (!state.waits.has(id)) await logWriter.append([parkingWait(state, call, id, about)])
          const wait = state.waits.get(id)
          for (const pending of pendingOn(state, wait ? [wait] : []).inputs) {
            askInProcess(ctx, pending, ({ value = null, by }) => {
              if (over || !state.waits.has(id)) return
              void failRunOnError(logWriter.append([resolvedEntry(state, id, value, by)])).then(
                operations.recheck,
                () => {},
              )
            })
          }
          await operations.waitUntil(operation, () => composite.answerOrder.has(id))
        })(),
      ),
    )
    const value = composite.waitAnswers.get(id)
    if (value !== undefined) return value
    throw new ProvostError(
      'wait-expired',
      `A wait of ${toolName} expired without an answer: ${about.message ?? id}`.slice(0, 500),
      {
        hint: 'Continue without the answer, or give the wait a longer withinMs.',
      },
    )
  }

  function memoAt<T>(id: string, fn: (operation: Operation) => T | Promise<T>): Promise<T>
  function memoAt(id: string, fn: (operation: Operation) => unknown): Promise<Json> {
    return remember(id, fn)
  }

  async function remember(id: string, fn: (operation: Operation) => unknown): Promise<Json> {
    await operations.run(id, async (operation) => {
      const value = toJson(await fn(operation))
      throwIfOver()
      await failRunOnError(logWriter.append([memoEntry(state, call, id, value)]))
    })
    return state.memos.get(id) ?? null
  }

  function detach(): void {
    detached = true
    for (const nested of nestedComposites) nested.detach()
    stop(new ProvostError('run-suspended', `The run of ${toolName} was suspended, and continues when it is resumed.`))
  }

  function once<T>(made: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
    const known = made.get(key)
    if (known) return known
    const one = make()
    made.set(key, one)
    // A failed operation may be retried.
    one.catch(() => made.delete(key))
    return one
  }

  function opsOf(): CompositeOps {
    function tools<In, Out, App>(tool: Tool<In, Out, App>, input: In, at: NestedCallOptions): Promise<ToolResult<Out>>
    function tools(name: string, input: unknown, at: NestedCallOptions): Promise<ToolResult>
    // oxlint-disable-next-line typescript/no-explicit-any -- the tool's schema has validated the value
    async function tools(named: string | Tool, input: unknown, at: NestedCallOptions): Promise<ToolResult<any>> {
      checkCallOptions(at)
      return callTool(named, input, at)
    }
    function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
    function memo(key: string, fn: () => unknown): Promise<Json> {
      return once(memos, key, async () => remember(`${callId}/memo/${keyOf(key, ctx)}`, fn))
    }
    return {
      call: tools,
      spawn: spawner.spawn,
      emit: (type, payload) => ctx.contextFor(agent.self).emit(type, payload),
      async fanOut(options, keyed = { key: 'fan-out' }) {
        checkFanOut(options, 'ctx.fanOut')
        checkCallOptions(keyed)
        return fanOut(
          {
            ctx,
            call,
            spawner,
            boundary: { ctx, call, memo: memoAt, wait: waitAt },
            operations,
            memo: async (at, fn) => memoAt(`${callId}/memo/${keyOf(at, ctx)}`, fn),
            signal: controller.signal,
          },
          options,
          keyed.key,
        )
      },
      memo,
      wait(token, about = {}) {
        checkWait(about)
        return once(waits, token, async () => waitAt(`${callId}/wait/${keyOf(token, ctx)}`, about))
      },
      busy: operations.busy,
    }
  }

  const compositeCall: CompositeCall = {
    call,
    signal: controller.signal,
    get parked() {
      return operations.parked
    },
    get detached() {
      return detached
    },
    get fault() {
      return fault
    },
    ended: Promise.resolve(),
    createBinding(signal) {
      const ended = (): void => stop(signal.reason)
      if (signal.aborted) ended()
      else signal.addEventListener('abort', ended, { once: true })
      return { ops: opsOf(), watch: operations.watch }
    },
    settledOrParked: () => Promise.race([compositeCall.ended, operations.allParked()]),
    recheck: operations.recheck,
    async close() {
      stop(new ProvostError('tool-abandoned', `The call of ${toolName} has already ended.`))
      if (operations.size === 0) return
      const enough = Promise.withResolvers<void>()
      const timer = setTimeout(enough.resolve, ctx.control.graceMs + closingMs)
      await Promise.race([operations.idle(), enough.promise])
      clearTimeout(timer)
    },
    detach,
  }
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return compositeCall
}

/** Milliseconds beyond the grace of tools, for writing their results. */
const closingMs = 25
