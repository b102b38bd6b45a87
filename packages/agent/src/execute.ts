import type { ErrorInfo, Label, Message, NewEntry, ToolCall, ToolResult } from '@provost/core'
import { fillLabel, isPromise, joinLabels, trustedLabel } from '@provost/core'
import { parseInput, resultOf, runBatch, runTool } from '@provost/tools'
import type { ToolOutcome } from '@provost/tools'

import { ask, canBeAsked } from './ask.ts'
import type { Settling } from './draft.ts'
import { settledEntry, startedEntry, unstartedEntry } from './draft.ts'
import { knowing } from './hook-context.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import type { CallState, Delivered } from './log-state.ts'
import { around, heedAbort, report, RunEnding, stopped } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'
import { sentBy } from './sent-by.ts'
import { executionMode } from './tool-phase.ts'

/**
 * Runs a batch of calls: `started` commits before a tool starts, `settled` as soon as it ends. Once the human steers or
 * the run is aborted, nothing more is started.
 */
export async function executeCalls(scope: RunScope, asked: readonly ToolCall[]): Promise<readonly ToolResult[]> {
  const { plan, state, given, mailbox, signal } = scope
  heedAbort(scope)
  const calls = asked.flatMap((call) => state.run?.calls.get(call.callId) ?? [])
  // What has begun, here or with those who delivered its result, is not skipped any more.
  const skips = ({ stage }: CallState): boolean => stage === 'ready' && (signal.aborted || mailbox.steers.length > 0)
  const [only] = calls
  if (only && calls.length === 1 && !skips(only)) await executeCall(scope, only)
  else {
    const left: CallState[] = []
    await runBatch(calls, {
      maxParallel: plan.maxParallelTools,
      mode: (call) => executionMode(plan, call),
      async run(call) {
        if (skips(call)) return void left.push(call)
        await executeCall(scope, call)
        if (given.getSteering) mailbox.steers.push(...sentBy(await given.getSteering(), 'getSteering'))
      },
    })
    await scope.journal.append(left.map((call) => leftBehind(scope, call)))
  }
  heedAbort(scope)
  // All are settled: there is nothing left for the loop to write.
  return []
}

function leftBehind(scope: RunScope, call: CallState): NewEntry {
  return scope.signal.aborted
    ? unstartedEntry(scope.state, call, 'aborted', 'The run was aborted before this call started.')
    : unstartedEntry(scope.state, call, 'skipped', 'Skipped: the user said something new first.')
}

async function executeCall(scope: RunScope, call: CallState): Promise<void> {
  const { journal, state } = scope
  if (call.stage === 'ready') await journal.append([startedEntry(state, call, journal.fence)])
  const { delivered } = call
  if (!delivered) {
    // A process that stood still may have been taken for dead since: then the call is another's.
    const confirmed = journal.confirm()
    if (confirmed) await confirmed
  }
  const outcome = await (delivered ? deliveredOutcome(scope, call, delivered) : perform(scope, call))
  const first = resultFrom(scope, call, outcome, delivered?.via ?? 'executed')
  const hooked =
    scope.plan.hooks['tool.result'].length > 0
      ? await throughResultHooks(scope, first)
      : { result: first, end: undefined }
  const { result } = hooked
  const settling: Settling = {
    durationMs: outcome.durationMs,
    // The error says what the output says: where a hook has changed or withheld that, it is gone too.
    ...(result.outcome === outcome.outcome && result.output === outcome.output && { error: outcome.error }),
  }
  await journal.append([settledEntry(state, call, result, settling)])
  if (hooked.end) throw hooked.end
}

/** The result that an outcome comes to. */
export function resultFrom(scope: RunScope, call: CallState, made: ToolOutcome, via: ToolResult['via']): ToolResult {
  const { outcome, output, label, value, fields, details } = made
  return {
    callId: call.part.callId,
    tool: scope.plan.info(call.part.toolName),
    input: call.args,
    outcome,
    via,
    output,
    label,
    ...(value !== undefined && { value }),
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
  }
}

async function deliveredOutcome(scope: RunScope, call: CallState, delivered: Delivered): Promise<ToolOutcome> {
  const tool = scope.plan.tools.get(call.part.toolName)
  if (tool && delivered.fate === 'done') return resultOf(tool, delivered.output, call.args)
  if (delivered.fate === 'expired') return expiredOutcome(call)
  return {
    outcome: 'error',
    output: { type: 'error-text', value: 'It is not known whether this call took effect; it was given up.' },
    label: trustedLabel,
    durationMs: 0,
  }
}

function expiredOutcome({ part }: CallState): ToolOutcome {
  const error: ErrorInfo = {
    code: 'tool-timeout',
    message: `Nobody gave a result for ${part.toolName} in time, and it is not waited for any more.`,
    hint: 'It may still take effect elsewhere: check before you repeat it.',
  }
  const output = { type: 'error-text', value: `${error.message}\n${error.hint}` } as const
  return { outcome: 'timeout', output, label: trustedLabel, error, durationMs: 0 }
}

async function perform(scope: RunScope, call: CallState): Promise<ToolOutcome> {
  const { plan, given, journal, step } = scope
  const { callId, toolName } = call.part
  const tool = plan.tools.get(toolName)
  if (!tool) throw new RunEnding('failed', { code: 'unknown-tool', message: `There is no tool named ${toolName}.` })
  const known = scope.parsed.has(callId)
  // After a crash the input was judged by another process: it is parsed again.
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
    runTool(tool, {
      callId,
      // Most tools never ask for it.
      get idempotencyKey() {
        return idempotencyKeyOf(scope.id, callId)
      },
      input: call.args,
      value: value.value,
      signal: scope.signal,
      get graceMs() {
        return scope.graceMs
      },
      runtime: plan.runtime,
      get access() {
        return scope.contextFor(plan.self)
      },
      context: given.context,
      get messages() {
        return historyBefore(scope.state.view)
      },
      ...(canBeAsked(scope) && { ask: (question, at) => ask(scope, call, question, at) }),
      progress: (data) => journal.emit('tool.execute.progress', { callId, toolName, data }, step),
      partial: (piece) => journal.emit('tool.execute.partial', { callId, toolName, ...piece }, step),
    })
  const op = { kind: 'tool', id: callId, parent: `${scope.id}/${step}`, callId, toolName, effect: tool.effect } as const
  return around(scope, op, run)
}

/** What the model had been told when it wrote the calls of this step: all before its answer. */
function historyBefore(view: readonly Message[]): readonly Message[] {
  const answer = view.findLastIndex(({ role }) => role === 'assistant')
  return answer < 0 ? [...view] : view.slice(0, answer)
}

/** Every result passes the `tool.result` hooks. One that throws withholds it: the model is told that it may not see it. */
export async function throughResultHooks(
  scope: RunScope,
  first: ToolResult,
): Promise<{ readonly result: ToolResult; readonly end: RunEnding | undefined }> {
  let result = first
  for (const { extension, hook } of scope.plan.hooks['tool.result']) {
    try {
      const given = hook(result, knowing(scope, extension, labelOfAll(result)))
      const answer = isPromise(given) ? await given : given
      if (!answer) continue
      if ('stop' in answer) return { result: withheld(result, 'The run was stopped.'), end: stopped(answer) }
      result = { ...answer, callId: first.callId, label: fillLabel(answer.label, result.label) }
    } catch (thrown) {
      report(scope, thrown, { kind: 'hook', name: extension.name })
      result = withheld(result, 'The result was withheld: it could not be checked.')
    }
  }
  return { result, end: undefined }
}

/** The strictest of what a result says of itself. */
function labelOfAll({ label, fields, output }: ToolResult): Label {
  const parts = output.type === 'content' ? output.value.flatMap((part) => part.label ?? []) : []
  const inner = [...Object.values(fields ?? {}), ...parts].map((one) => fillLabel(one, label))
  return inner.length > 0 ? joinLabels(label, ...inner) : label
}

function withheld(result: ToolResult, reason: string): ToolResult {
  const { callId, tool, input, via } = result
  return {
    callId,
    tool,
    input,
    via,
    outcome: 'error',
    output: { type: 'error-text', value: reason },
    label: trustedLabel,
  }
}
