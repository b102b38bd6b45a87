import type { ErrorInfo, Json, Label, Message, NewEntry, SessionAccess, ToolCall, ToolResult } from '@provost/core'
import { fillLabel, isPromise, joinLabels, trustedLabel } from '@provost/core'
import type { ToolOutcome, ToolRun } from '@provost/tools'
import { parseInput, resultOf, runBatch, runTool } from '@provost/tools'

import { closeChildren } from '../children/close-children.ts'
import { unlessAborted } from '../control/abort-control.ts'
import { giveWay } from '../control/paced-work.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import type { Settling } from '../entries/call-entries.ts'
import { settledEntry, startedEntry, unstartedEntry } from '../entries/call-entries.ts'
import { unawaitedCalls } from '../entries/unawaited-calls.ts'
import { returnHandoffOf } from '../handoff/return-handoff.ts'
import { around } from '../hooks/around.ts'
import { callbackInputs } from '../inbox/callback-inputs.ts'
import { bridgeOf } from '../reducers/composite-reducer.ts'
import { byteCount } from '../state/byte-count.ts'
import { ask, canBeAsked } from '../tools/elicitation.ts'
import { executionMode, mayRepeat } from '../tools/execution-mode.ts'
import { idempotencyKeyOf } from '../tools/idempotency-key.ts'
import { resultFrom, throughResultHooks } from '../tools/result-hooks.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallState, Delivered } from '../types/session-state.ts'
import { applyDecisions, awaitSettled, reconcileAgain } from './active-calls.ts'
import { createCompositeCall } from './composite-call.ts'

/**
 * Runs a batch of calls. `started` commits before a tool starts, and `settled` as soon as it ends. After steering input
 * or an abort no further call starts.
 */
export async function executeCalls(scope: RunContext, asked: readonly ToolCall[]): Promise<readonly ToolResult[]> {
  const { plan, state, given, mailbox, signal } = scope
  stopIfAborted(scope)
  const calls = asked.flatMap((call) => state.run?.calls.get(call.callId) ?? [])
  // Only calls that have not begun are skipped. A call with a delivered result has begun elsewhere.
  const skips = ({ stage }: CallState): boolean => stage === 'ready' && (signal.aborted || mailbox.steers.length > 0)
  const isComposite = (call: CallState): boolean =>
    plan.info(call.part.toolName).composite && call.stage !== 'delivered'
  const composed = scope.live.calls.size > 0 || calls.some(isComposite)
  const [only] = calls
  if (only && calls.length === 1 && !composed && !skips(only)) await executeCall(scope, only)
  else {
    const left: CallState[] = []
    const batch = (): Promise<void> =>
      runBatch(calls, {
        maxParallel: scope.slots,
        mode: (call) => executionMode(plan, call),
        async run(call, leave) {
          const arriving = scope.inbox?.arriving()
          if (arriving) await unlessAborted(signal, arriving)
          if (skips(call)) return void left.push(call)
          await (isComposite(call) ? enterCall(scope, call, leave).rest() : executeCall(scope, call))
          if (given.getSteering) mailbox.steers.push(...callbackInputs(await given.getSteering(), 'getSteering'))
        },
      })
    await (composed ? withComposites(scope, batch) : batch())
    await scope.journal.append(left.map((call) => leftBehind(scope, call)))
  }
  stopIfAborted(scope)
  // All calls are settled or parked, so the loop has no results to write.
  return []
}

/** Runs a batch with composites, including parked ones, until each has ended or is parked. */
async function withComposites(scope: RunContext, batch: () => Promise<void>): Promise<void> {
  scope.live.begin()
  reconcileAgain(scope)
  const heeded = applyDecisions(scope)
  try {
    await batch()
    await awaitSettled(scope)
  } finally {
    scope.live.end()
    await heeded()
  }
}

/** Enters a composite call of the model, or returns the one that is parked in this process. */
function enterCall(scope: RunContext, call: CallState, freeSlot: () => void): CompositeCall {
  const { calls } = scope.live
  const { callId } = call.part
  const known = calls.get(callId)
  if (known) {
    freeSlot()
    return known
  }
  const live = enter(scope, call, scope.signal, () => {}, freeSlot)
  calls.set(callId, live)
  live.ended.then(
    () => live.left || calls.delete(callId),
    () => {},
  )
  return live
}

function enter(
  scope: RunContext,
  call: CallState,
  signal: AbortSignal,
  turned: (parked: boolean) => void,
  freeSlot: () => void = () => {},
): CompositeCall {
  const live = createCompositeCall(scope, call, signal, {
    freeSlot,
    turned,
    // While no batch is open, the loop decides about a call that waits.
    staysParked: () => !scope.live.isOpen || scope.pendingPolicy() === 'hold',
    execute: (inner, under) => executeCall(scope, inner, under),
    enter: (inner, under, parked) => enter(scope, inner, under, parked),
  })
  live.ended = executeCall(scope, call, live.signal, live)
  return live
}

function leftBehind(scope: RunContext, call: CallState): NewEntry {
  return scope.signal.aborted
    ? unstartedEntry(scope.state, call, 'aborted', 'The run was aborted before this call started.')
    : unstartedEntry(scope.state, call, 'skipped', 'Skipped: the user said something new first.')
}

async function executeCall(
  scope: RunContext,
  call: CallState,
  signal: AbortSignal = scope.signal,
  live?: CompositeCall,
): Promise<void> {
  const { journal, state, plan } = scope
  if (call.stage === 'ready') {
    const repeatable = mayRepeat(plan.info(call.part.toolName))
    await journal.append([startedEntry(state, call, journal.fence, repeatable)])
  }
  const others = giveWay(byteCount(call.args))
  if (others) await others
  const { delivered } = call
  if (!delivered) {
    // A stalled process may have lost its lease; then another process owns the call.
    const confirmed = journal.confirm()
    if (confirmed) await confirmed
  }
  const made = await (delivered ? deliveredOutcome(scope, call, delivered) : perform(scope, call, signal, live))
  if (live) {
    await live.close()
    if (live.left) return
    if (live.fault) throw live.fault.error
  }
  const outcome = live ? labelled(made, bridgeOf(call).label) : made
  const first = resultFrom(scope, call, outcome, delivered?.via ?? 'executed')
  const hooked = throughResultHooks(scope, first)
  const { result, end } = isPromise(hooked) ? await hooked : hooked
  const settling: Settling = {
    durationMs: outcome.durationMs,
    // The error repeats the output, so it is dropped if a hook changed or withheld the output.
    ...(result.outcome === outcome.outcome && result.output === outcome.output && { error: outcome.error }),
  }
  // Children that were not resumed after a crash would stay open forever.
  const left = live ? [...(await closeChildren(scope, state, call)), ...unawaitedCalls(state, call)] : []
  await journal.append([...left, settledEntry(state, call, result, settling)])
  if (end) throw end
}

async function deliveredOutcome(scope: RunContext, call: CallState, delivered: Delivered): Promise<ToolOutcome> {
  const tool = scope.plan.tools.get(call.part.toolName)
  if (tool && delivered.fate === 'done') return resultOf(tool, delivered.output, call.args)
  if (delivered.fate === 'expired') return expiredOutcome(call)
  return {
    outcome: 'error',
    output: { type: 'error-text', value: 'The call was abandoned. It is unknown whether it took effect.' },
    label: trustedLabel,
    durationMs: 0,
  }
}

function expiredOutcome({ part }: CallState): ToolOutcome {
  const error: ErrorInfo = {
    code: 'tool-timeout',
    message: `The result of ${part.toolName} did not arrive in time, and the call was abandoned.`,
    hint: 'The call may still take effect elsewhere. Check before you repeat it.',
  }
  const output = { type: 'error-text', value: `${error.message}\n${error.hint}` } as const
  return { outcome: 'timeout', output, label: trustedLabel, error, durationMs: 0 }
}

async function perform(
  scope: RunContext,
  call: CallState,
  signal: AbortSignal,
  live: CompositeCall | undefined,
): Promise<ToolOutcome> {
  const { plan, step } = scope
  const { callId, toolName } = call.part
  const tool = plan.tools.get(toolName)
  if (!tool) throw new RunEnding('failed', { code: 'unknown-tool', message: `There is no tool named ${toolName}.` })
  const known = scope.parsed.has(callId)
  // After a crash another process parsed and authorized the input, so it is parsed again.
  const parsed = known ? { ok: true as const, value: scope.parsed.get(callId) } : parseInput(tool, call.args)
  const value = isPromise(parsed) ? await parsed : parsed
  scope.parsed.delete(callId)
  if (!value.ok) {
    return {
      outcome: 'error',
      output: { type: 'error-text', value: value.error.message },
      label: trustedLabel,
      error: value.error,
      durationMs: 0,
    }
  }
  const run = (): Promise<ToolOutcome> =>
    runTool(tool, new CallRun(scope, call, returnHandoffOf(scope, call) ?? value.value, signal, live))
  const parent = call.parentCallId ?? `${scope.id}/${step}`
  const { effect, sandbox } = tool
  const op = { kind: 'tool', id: callId, parent, callId, toolName, effect, ...(sandbox && { sandbox }) } as const
  return around(scope, op, run)
}

/** The context of a tool call. A class, because getters of a literal are slow and most tools use none of them. */
class CallRun implements ToolRun {
  readonly callId: string
  readonly input: Json
  readonly value: unknown
  readonly signal: AbortSignal
  readonly runtime: ToolRun['runtime']
  readonly context: unknown
  readonly secrets: ToolRun['secrets']
  readonly bridge?: CompositeCall['bridge']
  readonly ask?: NonNullable<ToolRun['ask']>
  readonly progress: ToolRun['progress']
  readonly partial: ToolRun['partial']
  readonly #scope: RunContext

  constructor(
    scope: RunContext,
    call: CallState,
    value: unknown,
    signal: AbortSignal,
    live: CompositeCall | undefined,
  ) {
    const { plan, given, journal, step } = scope
    const { callId, toolName } = call.part
    this.#scope = scope
    this.callId = callId
    this.input = call.args
    this.value = value
    this.signal = signal
    this.runtime = plan.runtime
    this.context = given.context
    this.secrets = scope.secrets
    if (live) this.bridge = live.bridge
    const asking: ToolRun['ask'] = (question, at) => ask(scope, call, question, at)
    const progress: ToolRun['progress'] = (data) =>
      journal.emit('tool.execute.progress', { callId, toolName, data }, step)
    const partial: ToolRun['partial'] = (piece) =>
      journal.emit('tool.execute.partial', { callId, toolName, ...piece }, step)
    if (canBeAsked(scope)) this.ask = asking
    this.progress = progress
    this.partial = partial
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.#scope.id, this.callId)
  }

  get graceMs(): number {
    return this.#scope.graceMs
  }

  get access(): SessionAccess {
    return this.#scope.contextFor(this.#scope.plan.self)
  }

  get messages(): readonly Message[] {
    return historyBefore(this.#scope.state.view)
  }
}

/** Returns the messages that the model had received when it made the calls of this step. */
function historyBefore(view: readonly Message[]): readonly Message[] {
  const answer = view.findLastIndex(({ role }) => role === 'assistant')
  return answer < 0 ? [...view] : view.slice(0, answer)
}

/** Joins the label of a composite's output with the labels of the results that it received. */
function labelled(outcome: ToolOutcome, answered: Label): ToolOutcome {
  const { fields, output } = outcome
  const all = (label: Label): Label => joinLabels(label, answered)
  return {
    ...outcome,
    label: all(outcome.label),
    ...(fields && { fields: Object.fromEntries(Object.entries(fields).map(([at, label]) => [at, all(label)])) }),
    ...(output.type === 'content' && {
      output: {
        ...output,
        value: output.value.map((part) =>
          part.label ? { ...part, label: all(fillLabel(part.label, outcome.label)) } : part,
        ),
      },
    }),
  }
}
