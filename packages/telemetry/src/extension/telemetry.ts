import type { Context, Span } from '@opentelemetry/api'
import { context, trace } from '@opentelemetry/api'
import type { CheckedKeys, Extension, HookContext, MovedKeys, TimedOperationOf, Watching } from '@provost/core'
import { assertNever, checkChoice, checkOptions, defineExtension, oneOf, ProvostError } from '@provost/core'

import type { ContentKind } from '../attributes/content.ts'
import { createRecorder } from '../attributes/content.ts'
import type { TelemetryOptions } from '../attributes/telemetry-options.ts'
import { instruments } from '../spans/instruments.ts'
import { neededEvents } from '../spans/observed-events.ts'
import type { RunInContext } from '../spans/run-context.ts'
import { withinRun } from '../spans/run-context.ts'
import type { RunTrace } from '../spans/run-trace.ts'
import { traceRun } from '../spans/run-trace.ts'
import { withSpan } from '../spans/span-context.ts'
import { logName } from '../spans/trace-context.ts'

/** Active runs, by what traces them. When two extensions meet in one run, the outer one traces it. */
const taken = new WeakMap<object, Set<string>>()

/** Largest number of finished runs that are remembered: a hook may still call a model after its run has ended. */
const mostLeft = 100
const ownOps: Watching['ops'] = ['run', 'child']
const everyOp: Watching['ops'] = [...ownOps, 'model', 'tool']
const everything: readonly ContentKind[] = ['messages', 'instructions', 'tools', 'errors']

const optionKeys = {
  tracer: true,
  meter: true,
  metricNames: oneOf('current', 'classic', 'both'),
  recordContent: checkKinds,
  scrubber: true,
  maxContentLength: checkLength,
  retrievalTools: true,
  sandboxTools: true,
} satisfies CheckedKeys<TelemetryOptions>

/** A misspelt kind would record nothing, unnoticed. */
function checkKinds(value: unknown, name: string, where: string): void {
  if (Array.isArray(value)) for (const kind of value) checkChoice(kind, everything, name, where)
  else if (value !== undefined && typeof value !== 'boolean')
    throw invalidOption(`${name} of ${where} is neither a boolean nor a list`, "Give true, or ['messages', 'tools'].")
}

function checkLength(value: unknown, name: string, where: string): void {
  if (value === undefined || (typeof value === 'number' && value >= 1)) return
  throw invalidOption(
    `${name} of ${where} is not a number of at least 1`,
    'Give a number of characters, such as 16_384.',
  )
}

function invalidOption(what: string, hint: string): ProvostError {
  return new ProvostError('invalid-option', `The option ${what}.`, { hint })
}

const movedKeys: MovedKeys = {
  recordInputs: "Write recordContent: ['messages', 'tools'].",
  recordOutputs: "Write recordContent: ['messages', 'tools'].",
  isEnabled: 'Remove it: the extension traces where it is in "extensions".',
  functionId: 'Remove it: spans carry the name of the agent.',
}

/**
 * Traces and measures runs by the OpenTelemetry conventions for generative AI. The extension uses public hooks and
 * events only. It covers child runs and handoff targets too.
 *
 * - Spans: `invoke_agent`, `chat`, `execute_tool`, `invoke_workflow`, `plan`, `retrieval`.
 * - Span events: decisions of policies, approvals with their waiting times, retries, fallbacks, steering, compaction.
 * - A resumed run is a span of its own, linked to the previous one, also in another process: the log holds the context.
 * - Without a registered SDK, `tracer` and `meter`, the extension does nothing.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model, tools, extensions: [telemetry({ recordContent: ['errors'] })] })
 */
export function telemetry(options: TelemetryOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'telemetry', movedKeys)
  const { recordContent = false, scrubber, maxContentLength = 16_384 } = options
  const kinds = recordContent === true ? everything : recordContent === false ? [] : recordContent
  const recorded: ReadonlySet<ContentKind> = new Set(kinds)
  const present = instruments(options)
  const [events, measuredEvents] = [neededEvents(recorded, false), neededEvents(recorded, true)]
  // Open spans exist in their process only. Everything that must outlive it is in the log.
  const runs = new Map<string, RunTrace>()
  /** Runs that were active before this extension saw them. */
  const joined = new Map<string, RunInContext>()
  /** Runs that this extension has seen from their start, traced or not. */
  const around = new Set<string>()
  /** Joined runs that ended recently. */
  const left = new Set<string>()
  const key = options.tracer ?? trace
  const claimed = taken.get(key) ?? new Set<string>()
  taken.set(key, claimed)

  /** The parent of a run's span: a call of the parent run, or the span that was active when the run was started. */
  function parentOf(runId: string, ctx: HookContext): Context {
    const active = context.active()
    const above = ctx.run.id === runId ? ctx.run.parents[0] : ctx.run.id
    const span: Span | undefined = above === undefined ? undefined : runs.get(above)?.spanAbove(runId)
    return span ? withSpan(active, span) : active
  }

  function begin(op: TimedOperationOf<'run' | 'child'>, ctx: HookContext, joins = false): RunTrace | undefined {
    const shared = present()
    if (!shared) return undefined
    const { runId } = op
    const scrub = (text: string): string => ctx.scrub(scrubber ? scrubber.scrub(text) : text)
    const run = traceRun(
      { ...shared, record: createRecorder(recorded, scrub, maxContentLength) },
      op,
      ctx,
      parentOf(runId, ctx),
      () => forget(runId),
      joins,
    )
    runs.set(runId, run)
    claimed.add(runId)
    return run
  }

  function forget(runId: string): void {
    runs.delete(runId)
    claimed.delete(runId)
    if (!joined.delete(runId)) return
    left.add(runId)
    const [oldest] = left
    if (left.size > mostLeft && oldest !== undefined) left.delete(oldest)
  }

  /** Returns the trace of an active run. After a handoff from an agent without telemetry, the trace starts here. */
  function traceOf(ctx: HookContext): RunTrace | undefined {
    const { id, sessionId } = ctx.run
    const known = runs.get(id)
    if (known || around.has(id) || claimed.has(id) || left.has(id)) return known
    const agent = ctx.agent.name
    const run = begin({ kind: 'run', id, runId: id, agent }, ctx, true)
    if (run) joined.set(id, { runId: id, sessionId, agent, scrub: ctx.scrub, span: run.span.spanContext() })
    return run
  }

  /** Wraps work for a run that was joined. Other runs carry everything in their context. */
  function inJoined<T>(runId: string, next: () => Promise<T>): () => Promise<T> {
    const run = joined.size > 0 ? joined.get(runId) : undefined
    return run ? () => withinRun(run, next) : next
  }

  async function aroundRun<T>(
    op: TimedOperationOf<'run' | 'child'>,
    next: () => Promise<T>,
    ctx: HookContext,
  ): Promise<T> {
    const { runId } = op
    if (op.kind === 'run') around.add(runId)
    try {
      return await followRun(op, next, ctx)
    } finally {
      if (op.kind === 'run') around.delete(runId)
    }
  }

  async function followRun<T>(
    op: TimedOperationOf<'run' | 'child'>,
    next: () => Promise<T>,
    ctx: HookContext,
  ): Promise<T> {
    const { runId, agent } = op
    const known = runs.get(runId)
    if (!known && claimed.has(runId)) return next()
    const run = known ?? begin(op, ctx)
    if (known && op.kind === 'run') known.linkChild(op, ctx)
    const span = run?.span.spanContext()
    const inContext = (): Promise<T> =>
      withinRun({ runId, sessionId: ctx.run.sessionId, agent, scrub: ctx.scrub, ...(span && { span }) }, next)
    if (!run) return inContext()
    try {
      return await context.with(withSpan(context.active(), run.span), inContext)
    } catch (thrown) {
      // No event reports the end of a run without this extension.
      if (op.kind === 'child') run.closeAbandoned()
      throw thrown
    }
  }

  return defineExtension({
    name: logName,
    scope: 'tree',
    portable: true,
    watches() {
      const shared = present()
      return shared ? { ops: everyOp, events: shared.meters ? measuredEvents : events } : { ops: ownOps, events: false }
    },
    hooks: {
      around(op, next, ctx) {
        switch (op.kind) {
          case 'run':
          case 'child':
            return aroundRun(op, next, ctx)
          case 'model':
            return traceOf(ctx)?.aroundModel(op, inJoined(ctx.run.id, next), ctx) ?? next()
          case 'tool':
            return traceOf(ctx)?.aroundTool(op, inJoined(ctx.run.id, next), ctx) ?? next()
          case 'step':
            return next()
          default:
            return assertNever(op)
        }
      },
      event(event, ctx) {
        // Events of child runs also reach the child runs' own hooks.
        if (event.runId === ctx.run.id) runs.get(event.runId)?.event(event, ctx)
      },
    },
  })
}
