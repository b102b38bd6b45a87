import type { ErrorInfo, Json, Label, Message, NewEntry, SessionAccess, ToolCall, ToolResult } from '@provost/core'
import { fillLabel, isPromise, joinLabels, trustedLabel } from '@provost/core'
import type { ToolOutcome, ToolRun } from '@provost/tools'
import { parseInput, resultOf, runBatch, runTool } from '@provost/tools'

import { closeChildren } from '../children/close-children.ts'
import { unlessAborted } from '../control/abort-control.ts'
import { yieldForBytes } from '../control/paced-work.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import type { SettledDetails } from '../entries/call-entries.ts'
import { settledEntry, startedEntry, unstartedEntry } from '../entries/call-entries.ts'
import { unawaitedCalls } from '../entries/unawaited-calls.ts'
import { returnHandoffOf } from '../handoff/return-handoff.ts'
import { around } from '../hooks/around.ts'
import { callbackInputs } from '../inbox/callback-inputs.ts'
import { compositeStateOf } from '../reducers/composite-reducer.ts'
import { byteCount } from '../state/byte-count.ts'
import { ask, canBeAsked } from '../tools/elicitation.ts'
import { executionMode, mayRepeat } from '../tools/execution-mode.ts'
import { idempotencyKeyOf } from '../tools/idempotency-key.ts'
import { resultFrom, throughResultHooks } from '../tools/result-hooks.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallState, Delivered } from '../types/session-state.ts'
import { applyDecisions, awaitSettled, recheckCalls } from './active-calls.ts'
import { createCompositeCall } from './composite-call.ts'

/**
 * Runs a batch of calls. `started` commits before a tool starts, and `settled` as soon as it ends. After steering input
 * or an abort no further call starts.
 */
export async function executeCalls(ctx: RunContext, asked: readonly ToolCall[]): Promise<readonly ToolResult[]> {
  const { agent, state, options, pendingInputs, signal } = ctx
  stopIfAborted(ctx)
  const calls = asked.flatMap((call) => state.run?.calls.get(call.callId) ?? [])
  // Only calls that have not begun are skipped. A call with a delivered result has begun elsewhere.
  const skips = ({ stage }: CallState): boolean =>
    stage === 'ready' && (signal.aborted || pendingInputs.steering.length > 0)
  const isComposite = (call: CallState): boolean =>
    agent.info(call.part.toolName).composite && call.stage !== 'delivered'
  const composed = ctx.activeCalls.calls.size > 0 || calls.some(isComposite)
  const [only] = calls
  if (only && calls.length === 1 && !composed && !skips(only)) await executeCall(ctx, only)
  else {
    const left: CallState[] = []
    const batch = (): Promise<void> =>
      runBatch(calls, {
        maxParallel: ctx.slots,
        mode: (call) => executionMode(agent, call),
        async run(call, leave) {
          const arriving = ctx.inbox?.arriving()
          if (arriving) await unlessAborted(signal, arriving)
          if (skips(call)) return void left.push(call)
          await (isComposite(call) ? enterCall(ctx, call, leave).settledOrParked() : executeCall(ctx, call))
          if (options.getSteering)
            pendingInputs.steering.push(...callbackInputs(await options.getSteering(), 'getSteering'))
        },
      })
    await (composed ? withComposites(ctx, batch) : batch())
    await ctx.logWriter.append(left.map((call) => abandonedEntry(ctx, call)))
  }
  stopIfAborted(ctx)
  // All calls are settled or parked, so the loop has no results to write.
  return []
}

/** Runs a batch with composites, including parked ones, until each has ended or is parked. */
async function withComposites(ctx: RunContext, batch: () => Promise<void>): Promise<void> {
  ctx.activeCalls.allowStarts()
  recheckCalls(ctx)
  const heeded = applyDecisions(ctx)
  try {
    await batch()
    await awaitSettled(ctx)
  } finally {
    ctx.activeCalls.blockStarts()
    await heeded()
  }
}

/** Enters a composite call of the model, or returns the one that is parked in this process. */
function enterCall(ctx: RunContext, call: CallState, freeSlot: () => void): CompositeCall {
  const { calls } = ctx.activeCalls
  const { callId } = call.part
  const known = calls.get(callId)
  if (known) {
    freeSlot()
    return known
  }
  const compositeCall = enter(ctx, call, ctx.signal, () => {}, freeSlot)
  calls.set(callId, compositeCall)
  compositeCall.ended.then(
    () => compositeCall.detached || calls.delete(callId),
    () => {},
  )
  return compositeCall
}

function enter(
  ctx: RunContext,
  call: CallState,
  signal: AbortSignal,
  onParkedChange: (parked: boolean) => void,
  freeSlot: () => void = () => {},
): CompositeCall {
  const compositeCall = createCompositeCall(ctx, call, signal, {
    freeSlot,
    onParkedChange,
    // While no batch is open, the loop decides about a call that waits.
    staysParked: () => !ctx.activeCalls.isOpen || ctx.pendingPolicy() === 'hold',
    execute: (inner, under) => executeCall(ctx, inner, under),
    startComposite: (inner, under, parked) => enter(ctx, inner, under, parked),
  })
  compositeCall.ended = executeCall(ctx, call, compositeCall.signal, compositeCall)
  return compositeCall
}

function abandonedEntry(ctx: RunContext, call: CallState): NewEntry {
  return ctx.signal.aborted
    ? unstartedEntry(ctx.state, call, 'aborted', 'The run was aborted before this call started.')
    : unstartedEntry(ctx.state, call, 'skipped', 'Skipped: the user said something new first.')
}

async function executeCall(
  ctx: RunContext,
  call: CallState,
  signal: AbortSignal = ctx.signal,
  compositeCall?: CompositeCall,
): Promise<void> {
  const { logWriter, state, agent } = ctx
  if (call.stage === 'ready') {
    const repeatable = mayRepeat(agent.info(call.part.toolName))
    await logWriter.append([startedEntry(state, call, logWriter.fence, repeatable)])
  }
  const others = yieldForBytes(byteCount(call.args))
  if (others) await others
  const { delivery } = call
  if (!delivery) {
    // A stalled process may have lost its lease; then another process owns the call.
    const confirmed = logWriter.confirm()
    if (confirmed) await confirmed
  }
  const made = await (delivery ? deliveredOutcome(ctx, call, delivery) : perform(ctx, call, signal, compositeCall))
  if (compositeCall) {
    await compositeCall.close()
    if (compositeCall.detached) return
    if (compositeCall.fault) throw compositeCall.fault.error
  }
  const outcome = compositeCall ? labelled(made, compositeStateOf(call).label) : made
  const first = resultFrom(ctx, call, outcome, delivery?.via ?? 'executed')
  const hooked = throughResultHooks(ctx, first)
  const { result, end } = isPromise(hooked) ? await hooked : hooked
  const settling: SettledDetails = {
    durationMs: outcome.durationMs,
    // The error repeats the output, so it is dropped if a hook changed or withheld the output.
    ...(result.outcome === outcome.outcome && result.output === outcome.output && { error: outcome.error }),
  }
  // Children that were not resumed after a crash would stay open forever.
  const left = compositeCall ? [...(await closeChildren(ctx, state, call)), ...unawaitedCalls(state, call)] : []
  await logWriter.append([...left, settledEntry(state, call, result, settling)])
  if (end) throw end
}

async function deliveredOutcome(ctx: RunContext, call: CallState, delivered: Delivered): Promise<ToolOutcome> {
  const tool = ctx.agent.tools.get(call.part.toolName)
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
  ctx: RunContext,
  call: CallState,
  signal: AbortSignal,
  compositeCall: CompositeCall | undefined,
): Promise<ToolOutcome> {
  const { agent, step } = ctx
  const { callId, toolName } = call.part
  const tool = agent.tools.get(toolName)
  if (!tool) throw new RunEnding('failed', { code: 'unknown-tool', message: `There is no tool named ${toolName}.` })
  const known = ctx.parsedInputs.has(callId)
  // After a crash another process parsed and authorized the input, so it is parsed again.
  const parsed = known ? { ok: true as const, value: ctx.parsedInputs.get(callId) } : parseInput(tool, call.args)
  const value = isPromise(parsed) ? await parsed : parsed
  ctx.parsedInputs.delete(callId)
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
    runTool(tool, new CallRun(ctx, call, returnHandoffOf(ctx, call) ?? value.value, signal, compositeCall))
  const parent = call.parentCallId ?? `${ctx.id}/${step}`
  const { effect, sandbox } = tool
  const op = { kind: 'tool', id: callId, parent, callId, toolName, effect, ...(sandbox && { sandbox }) } as const
  return around(ctx, op, run)
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
  readonly bridge?: CompositeCall['createBinding']
  readonly ask?: NonNullable<ToolRun['ask']>
  readonly progress: ToolRun['progress']
  readonly partial: ToolRun['partial']
  readonly #scope: RunContext

  constructor(
    ctx: RunContext,
    call: CallState,
    value: unknown,
    signal: AbortSignal,
    compositeCall: CompositeCall | undefined,
  ) {
    const { agent, options, logWriter, step } = ctx
    const { callId, toolName } = call.part
    this.#scope = ctx
    this.callId = callId
    this.input = call.args
    this.value = value
    this.signal = signal
    this.runtime = agent.runtime
    this.context = options.context
    this.secrets = ctx.secrets
    if (compositeCall) this.bridge = compositeCall.createBinding
    const asking: ToolRun['ask'] = (question, at) => ask(ctx, call, question, at)
    const progress: ToolRun['progress'] = (data) =>
      logWriter.emit('tool.execute.progress', { callId, toolName, data }, step)
    const partial: ToolRun['partial'] = (piece) =>
      logWriter.emit('tool.execute.partial', { callId, toolName, ...piece }, step)
    if (canBeAsked(ctx)) this.ask = asking
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
    return this.#scope.contextFor(this.#scope.agent.self)
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
