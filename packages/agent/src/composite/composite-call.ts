import type { CompositeOps, Json, Tool, ToolResult, WaitAbout } from '@provost/core'
import { ProvostError, deepFreeze, toJson } from '@provost/core'

import { fanOut } from '../children/fan-out.ts'
import { createSpawner } from '../children/spawn.ts'
import { checkCallOptions, checkFanOut, checkWait } from '../definition/known-team-options.ts'
import { memoEntry, plannedEntry } from '../entries/call-entries.ts'
import { parkingWait, resolvedEntry } from '../entries/wait-entries.ts'
import { createCancelScope } from '../operations/cancellation.ts'
import { deepest, depthOf, diverged, keyOf, tooDeep } from '../operations/operation-key.ts'
import type { Operation } from '../operations/operations.ts'
import { createOperations } from '../operations/operations.ts'
import { bridgeOf } from '../reducers/composite-reducer.ts'
import { hashJson } from '../state/entry.ts'
import { pendingOn } from '../state/next-action.ts'
import { callOf } from '../state/session-state.ts'
import { askInProcess } from '../tools/elicitation.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { bridgedResult, nameIn, runNestedCall } from './nested-call.ts'

/** What a composite call needs from its caller. */
export interface CompositeHost {
  /** Releases its slot. */
  freeSlot(): void
  /** Called with `true` when it parks, and with `false` when it resumes. */
  turned(parked: boolean): void
  /** Whether an abort leaves a parked call parked. */
  staysParked(): boolean
  execute(call: CallState, signal: AbortSignal): Promise<void>
  enter(call: CallState, signal: AbortSignal, turned: (parked: boolean) => void): CompositeCall
}

/** Creates a composite call. */
export function createCompositeCall(
  scope: RunContext,
  call: CallState,
  parent: AbortSignal,
  host: CompositeHost,
): CompositeCall {
  const { state, journal, plan } = scope
  const { callId, toolName } = call.part
  const fold = bridgeOf(call)
  const controller = new AbortController()
  const follow = (): void => {
    if (acts.parked && host.staysParked()) leave()
    else controller.abort(parent.reason)
  }

  const calls = new Map<string, { readonly same: string; readonly result: Promise<ToolResult> }>()
  const waits = new Map<string, Promise<Json>>()
  const memos = new Map<string, Promise<Json>>()
  const stopper = createCancelScope()
  let over: { readonly reason: unknown } | undefined
  let left = false
  let fault: CompositeCall['fault']
  const inside = new Set<CompositeCall>()

  const heed = (): void => {
    if (over) throw over.reason
  }

  const acts = createOperations({
    fold,
    orStopped: stopper.orStopped,
    isOver: () => over !== undefined,
    heed,
    open: () => scope.live.open,
    begins: () => host.freeSlot(),
    turned: (parked) => host.turned(parked),
  })

  const spawner = createSpawner(scope, call, {
    acts,
    sure,
    heed,
    signal: controller.signal,
    isLeft: () => left,
    knows: (id) => calls.has(id),
    memo: memoAt,
    wait: waitAt,
  })

  function stop(reason: unknown): void {
    if (over) return
    over = { reason }
    parent.removeEventListener('abort', follow)
    stopper.stop(reason)
    controller.abort(reason)
  }

  /** Awaits work of the runtime. A runtime failure inside a composite ends the run. */
  async function sure<T>(work: Promise<T>): Promise<T> {
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

  async function carry(one: Operation, inner: CallState): Promise<void> {
    await runNestedCall(scope, inner, {
      heed,
      moved: () => acts.until(one, () => inner.stage !== 'waiting'),
      execute: (its) => host.execute(its, controller.signal),
      async enter(its) {
        const nested = host.enter(its, controller.signal, (now) => acts.setParked(one, now))
        inside.add(nested)
        one.look = nested.look
        try {
          await nested.ended
        } finally {
          inside.delete(nested)
          one.look = undefined
        }
      },
    })
  }

  function callTool(named: string | Tool, input: unknown, key: string): Promise<ToolResult> {
    const name = typeof named === 'string' ? named : nameIn(plan, named)
    // Secrets are tokenised, so that a repeated call equals the call in the log.
    const args = deepFreeze(scope.secrets.scrubber.tokenise(toJson(input)))
    const same = hashJson([name, args])
    const id = `${callId}/${keyOf(key, scope)}`
    const inFlight = calls.get(id)
    const known = state.run && callOf(state.run, id)
    const before = inFlight?.same ?? (known && hashJson([known.part.toolName, known.part.input]))
    if ((before !== undefined && before !== same) || spawner.knows(id)) throw diverged(toolName, key)
    if (inFlight) return inFlight.result
    if (!known && depthOf(scope, call) >= deepest) throw tooDeep(toolName)
    const make = async (): Promise<ToolResult> => {
      await acts.run(id, (one) =>
        sure(
          (async () => {
            if (!known) await journal.append([plannedEntry(state, call, id, key, name, args)])
            const inner = state.run && callOf(state.run, id)
            if (inner) await carry(one, inner)
          })(),
        ),
      )
      const inner = state.run && callOf(state.run, id)
      if (!inner) throw new ProvostError('tool-calls-pending', `The call ${id} has no result.`)
      return bridgedResult(plan, inner)
    }
    const result = make()
    calls.set(id, { same, result })
    return result
  }

  async function waitAt(id: string, about: WaitAbout): Promise<Json> {
    await acts.run(id, (one) =>
      sure(
        (async () => {
          if (!state.waits.has(id)) await journal.append([parkingWait(state, call, id, about)])
          const wait = state.waits.get(id)
          for (const pending of pendingOn(state, wait ? [wait] : []).inputs) {
            askInProcess(scope, pending, ({ value = null, by }) => {
              if (over || !state.waits.has(id)) return
              void sure(journal.append([resolvedEntry(state, id, value, by)])).then(acts.look, () => {})
            })
          }
          await acts.until(one, () => fold.orders.has(id))
        })(),
      ),
    )
    const value = fold.given.get(id)
    if (value !== undefined) return value
    throw new ProvostError(
      'wait-expired',
      `A wait of ${toolName} expired without an answer: ${about.message ?? id}`.slice(0, 500),
      {
        hint: 'Continue without the answer, or give the wait a longer withinMs.',
      },
    )
  }

  function memoAt<T>(id: string, fn: (one: Operation) => T | Promise<T>): Promise<T>
  function memoAt(id: string, fn: (one: Operation) => unknown): Promise<Json> {
    return remember(id, fn)
  }

  async function remember(id: string, fn: (one: Operation) => unknown): Promise<Json> {
    await acts.run(id, async (one) => {
      const value = toJson(await fn(one))
      heed()
      await sure(journal.append([memoEntry(state, call, id, value)]))
    })
    return state.memos.get(id) ?? null
  }

  function leave(): void {
    left = true
    for (const nested of inside) nested.leave()
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
    function tools<In, Out, App>(tool: Tool<In, Out, App>, input: In, at: { key: string }): Promise<ToolResult<Out>>
    function tools(name: string, input: unknown, at: { key: string }): Promise<ToolResult>
    // oxlint-disable-next-line typescript/no-explicit-any -- the tool's schema has validated the value
    async function tools(named: string | Tool, input: unknown, at: { key: string }): Promise<ToolResult<any>> {
      checkCallOptions(at)
      return callTool(named, input, at.key)
    }
    function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
    function memo(key: string, fn: () => unknown): Promise<Json> {
      return once(memos, key, async () => remember(`${callId}/memo/${keyOf(key, scope)}`, fn))
    }
    return {
      call: tools,
      spawn: spawner.spawn,
      emit: (type, payload) => scope.contextFor(plan.self).emit(type, payload),
      async fanOut(options, keyed = { key: 'fan-out' }) {
        checkFanOut(options, 'ctx.fanOut')
        checkCallOptions(keyed)
        return fanOut(
          {
            scope,
            call,
            spawner,
            boundary: { scope, call, memo: memoAt, wait: waitAt },
            acts,
            memo: async (at, fn) => memoAt(`${callId}/memo/${keyOf(at, scope)}`, fn),
            signal: controller.signal,
          },
          options,
          keyed.key,
        )
      },
      memo,
      wait(token, about = {}) {
        checkWait(about)
        return once(waits, token, async () => waitAt(`${callId}/wait/${keyOf(token, scope)}`, about))
      },
      busy: acts.busy,
    }
  }

  const live: CompositeCall = {
    call,
    signal: controller.signal,
    get parked() {
      return acts.parked
    },
    get left() {
      return left
    },
    get fault() {
      return fault
    },
    ended: Promise.resolve(),
    bridge(signal) {
      const ended = (): void => stop(signal.reason)
      if (signal.aborted) ended()
      else signal.addEventListener('abort', ended, { once: true })
      return { ops: opsOf(), watch: acts.watch }
    },
    rest: () => Promise.race([live.ended, acts.parking()]),
    look: acts.look,
    async close() {
      stop(new ProvostError('tool-abandoned', `The call of ${toolName} has already ended.`))
      if (acts.size === 0) return
      const enough = Promise.withResolvers<void>()
      const timer = setTimeout(enough.resolve, scope.graceMs + closingMs)
      await Promise.race([acts.idle(), enough.promise])
      clearTimeout(timer)
    },
    leave,
  }
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return live
}

/** Milliseconds beyond the grace of tools, for writing their results. */
const closingMs = 25
