import type { CompositeOps, Json, Tool, ToolResult, WaitAbout } from '@provost/core'
import { deepFreeze, ProvostError, toJson } from '@provost/core'
import type { Bridge } from '@provost/tools'

import { askInProcess } from './ask.ts'
import { bridgeOf } from './bridge-fold.ts'
import { bridgedResult, carryCall, nameIn } from './bridged-call.ts'
import { createDeliveries } from './delivery.ts'
import { memoEntry, parkingWait, plannedEntry, resolvedEntry } from './draft.ts'
import { hashJson } from './entry.ts'
import type { CallState } from './log-state.ts'
import { callOf } from './log-state.ts'
import { pendingOn } from './position.ts'
import type { RunScope } from './run-scope.ts'

/** A composite call that this process has entered. */
export interface LiveCall {
  readonly call: CallState
  /** Of the call and of all that it makes. */
  readonly signal: AbortSignal
  /** All that it has under way waits for somebody outside. */
  readonly parked: boolean
  /** It was left, to be entered again by whoever resumes the run: nothing of it is written any more. */
  readonly left: boolean
  /** What went wrong with the run, not with the tool: the run has to end. */
  readonly fault: { readonly error: unknown } | undefined
  /** Settled when its result stands in the log; rejects with its fault. */
  ended: Promise<void>
  bridge(signal: AbortSignal): Bridge
  /** Resolves when it has parked or ended. */
  rest(): Promise<void>
  /** The log has changed: what waits may go on. */
  look(): void
  /** Its code has ended: nothing more is begun, and what is under way is aborted and has its grace. */
  close(): Promise<void>
  /** Leaves it where the log says it stands. */
  leave(): void
}

/** What a composite call needs of whoever entered it. */
export interface LiveHost {
  /** Gives its slot back. */
  freeSlot(): void
  /** Told when it parks and when it goes on. */
  turned(parked: boolean): void
  /** Whether an abort leaves it where it is parked. */
  staysParked(): boolean
  execute(call: CallState, signal: AbortSignal): Promise<void>
  enter(call: CallState, signal: AbortSignal, turned: (parked: boolean) => void): LiveCall
}

/** Something that a composite has under way. */
interface Act {
  parked: boolean
  look: (() => void) | undefined
}

const deepest = 16
const longestKey = 256

/** Makes a composite call ready to be entered. */
export function createLiveCall(scope: RunScope, call: CallState, parent: AbortSignal, host: LiveHost): LiveCall {
  const { state, journal, plan } = scope
  const { callId, toolName } = call.part
  const fold = bridgeOf(call)
  const controller = new AbortController()
  const follow = (): void => {
    if (parked && host.staysParked()) leave()
    else controller.abort(parent.reason)
  }

  const acts = new Map<string, Act>()
  const calls = new Map<string, { readonly same: string; readonly result: Promise<ToolResult> }>()
  const waits = new Map<string, Promise<Json>>()
  const memos = new Map<string, Promise<Json>>()
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => {})
  let over: { readonly reason: unknown } | undefined
  let left = false
  let fault: LiveCall['fault']
  let [parkedActs, working, changes, parked] = [0, 0, 0, false]
  let parking = Promise.withResolvers<void>()
  let idle: (() => void) | undefined
  let watcher: ((parked: boolean) => void) | undefined
  const inside = new Set<LiveCall>()
  const deliveries = createDeliveries(fold, { asks: (id) => acts.has(id), atWork: () => working > 0 })

  function stop(reason: unknown): void {
    if (over) return
    over = { reason }
    parent.removeEventListener('abort', follow)
    stopped.reject(reason)
    controller.abort(reason)
  }

  const heed = (): void => {
    if (over) throw over.reason
  }

  const allParked = (): boolean => !over && working === 0 && acts.size > 0 && parkedActs === acts.size

  function turn(now: boolean): void {
    parked = now
    if (now) parking.resolve()
    else parking = Promise.withResolvers()
    watcher?.(now)
    host.turned(now)
  }

  function changed(): void {
    const at = ++changes
    if (parked) {
      if (!allParked()) turn(false)
    } else if (allParked()) {
      // Its code may be about to do more: it has a turn of the event loop for that.
      setImmediate(() => {
        if (at === changes && allParked()) turn(true)
      })
    }
  }

  function setParked(one: Act, now: boolean): void {
    if (one.parked === now) return
    one.parked = now
    parkedActs += now ? 1 : -1
    changed()
  }

  /** Waits for somebody outside. */
  async function until(one: Act, come: () => boolean): Promise<void> {
    if (come()) return
    const coming = Promise.withResolvers<void>()
    one.look = () => {
      if (come()) coming.resolve()
    }
    setParked(one, true)
    try {
      await Promise.race([coming.promise, stopped.promise])
    } finally {
      one.look = undefined
      setParked(one, false)
    }
  }

  /** Whatever the runtime does for the composite and fails in is no business of the composite's: it ends the run. */
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

  /** Brings one answer into the log, unless it is there, and gives it when it is its turn. */
  async function act(id: string, work: (one: Act) => Promise<void>): Promise<void> {
    heed()
    host.freeSlot()
    const one: Act = { parked: false, look: undefined }
    acts.set(id, one)
    changed()
    deliveries.look()
    try {
      if (!fold.orders.has(id)) {
        await Promise.race([scope.live.open, stopped.promise])
        heed()
        await work(one)
      }
      await Promise.race([deliveries.turn(id), stopped.promise])
    } finally {
      setParked(one, false)
      acts.delete(id)
      changed()
      if (acts.size === 0) idle?.()
    }
  }

  async function carry(one: Act, inner: CallState): Promise<void> {
    await carryCall(scope, inner, {
      heed,
      moved: () => until(one, () => inner.stage !== 'waiting'),
      execute: (its) => host.execute(its, controller.signal),
      async enter(its) {
        const nested = host.enter(its, controller.signal, (now) => setParked(one, now))
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
    // As tokens, so that what stands in the log is what is asked for again.
    const args = deepFreeze(scope.secrets.scrubber.tokenise(toJson(input)))
    const same = hashJson([name, args])
    const id = `${callId}/${keyOf(key)}`
    const inFlight = calls.get(id)
    const known = state.run && callOf(state.run, id)
    const before = inFlight?.same ?? (known && hashJson([known.part.toolName, known.part.input]))
    if (before !== undefined && before !== same) throw diverged(toolName, key)
    if (inFlight) return inFlight.result
    if (!known && depthOf(scope, call) >= deepest) throw tooDeep(toolName)
    const make = async (): Promise<ToolResult> => {
      await act(id, (one) =>
        sure(
          (async () => {
            if (!known) await journal.append([plannedEntry(state, call, id, key, name, args)])
            const inner = state.run && callOf(state.run, id)
            if (inner) await carry(one, inner)
          })(),
        ),
      )
      const inner = state.run && callOf(state.run, id)
      if (!inner) throw new ProvostError('call-open', `The call ${id} has no result.`)
      return bridgedResult(plan, inner)
    }
    const result = make()
    calls.set(id, { same, result })
    return result
  }

  async function waitFor(token: string, about: WaitAbout): Promise<Json> {
    const id = `${callId}/wait/${keyOf(token)}`
    await act(id, (one) =>
      sure(
        (async () => {
          if (!state.waits.has(id)) await journal.append([parkingWait(state, call, id, about)])
          const wait = state.waits.get(id)
          for (const pending of pendingOn(state, wait ? [wait] : []).inputs) {
            askInProcess(scope, pending, ({ value = null, by }) => {
              if (over || !state.waits.has(id)) return
              void sure(journal.append([resolvedEntry(state, id, value, by)])).then(look, () => {})
            })
          }
          await until(one, () => fold.orders.has(id))
        })(),
      ),
    )
    const value = fold.given.get(id)
    if (value !== undefined) return value
    throw new ProvostError(
      'wait-expired',
      `Nobody answered ${toolName} in time: ${about.message ?? token}`.slice(0, 500),
      {
        hint: 'Go on without the answer.',
      },
    )
  }

  async function remember(key: string, fn: () => unknown): Promise<Json> {
    const id = `${callId}/memo/${keyOf(key)}`
    await act(id, async () => {
      const value = toJson(await fn())
      heed()
      await sure(journal.append([memoEntry(state, call, id, value)]))
    })
    return state.memos.get(id) ?? null
  }

  function leave(): void {
    left = true
    for (const nested of inside) nested.leave()
    stop(new ProvostError('run-suspended', `The run of ${toolName} was suspended, and goes on where it is resumed.`))
  }

  function look(): void {
    for (const one of acts.values()) one.look?.()
  }

  function once<T>(made: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
    const known = made.get(key)
    if (known) return known
    const one = make()
    made.set(key, one)
    // A failed one may be tried again.
    one.catch(() => made.delete(key))
    return one
  }

  function opsOf(): CompositeOps {
    function tools<In, Out, App>(tool: Tool<In, Out, App>, input: In, at: { key: string }): Promise<ToolResult<Out>>
    function tools(name: string, input: unknown, at: { key: string }): Promise<ToolResult>
    // oxlint-disable-next-line typescript/no-explicit-any -- what the overloads say of the value, the tool's schema has checked
    async function tools(named: string | Tool, input: unknown, at: { key: string }): Promise<ToolResult<any>> {
      return callTool(named, input, at.key)
    }
    function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
    function memo(key: string, fn: () => unknown): Promise<Json> {
      return once(memos, key, () => remember(key, fn))
    }
    return {
      call: tools,
      memo,
      wait: (token, about = {}) => once(waits, token, () => waitFor(token, about)),
      async busy(work) {
        working++
        changed()
        try {
          return await work
        } finally {
          working--
          changed()
          deliveries.look()
        }
      },
    }
  }

  const live: LiveCall = {
    call,
    signal: controller.signal,
    get parked() {
      return parked
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
      return { ops: opsOf(), watch: (listener) => void (watcher = listener) }
    },
    rest: () => Promise.race([live.ended, parking.promise]),
    look,
    async close() {
      stop(new ProvostError('tool-left-behind', `${toolName} has ended for its run.`))
      if (acts.size === 0) return
      const quiet = Promise.withResolvers<void>()
      idle = quiet.resolve
      const timer = setTimeout(quiet.resolve, scope.graceMs + closingMs)
      await quiet.promise
      clearTimeout(timer)
    },
    leave,
  }
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return live
}

/** Beyond the grace of tools, for their results to be written. */
const closingMs = 25

function depthOf(scope: RunScope, call: CallState): number {
  let depth = 1
  for (let at: CallState | undefined = call; at?.parentCallId !== undefined; depth++) {
    at = scope.state.run && callOf(scope.state.run, at.parentCallId)
  }
  return depth
}

/** A key as a part of an id. */
function keyOf(key: unknown): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= longestKey && key.isWellFormed())
    return encodeURIComponent(key)
  throw new ProvostError('invalid-key', `A key of a composite is a text of 1 to ${longestKey} characters.`, {
    hint: 'Number what you do, or name it.',
  })
}

function diverged(toolName: string, key: string): ProvostError {
  return new ProvostError(
    'replay-diverged',
    `${toolName} used the key ${key} with another tool or other input before.`,
    {
      hint: 'Give each call of a composite a key of its own, and let nothing but its input and its answers decide what it calls.',
    },
  )
}

function tooDeep(toolName: string): ProvostError {
  return new ProvostError(
    'too-deep',
    `${toolName} is called by composites ${deepest} deep, and may call nothing itself.`,
    {
      hint: 'Composites that call each other need an end.',
    },
  )
}
