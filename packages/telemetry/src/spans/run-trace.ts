import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, SpanKind, trace } from '@opentelemetry/api'
import type { AgentEvent, EventOf, HookContext, Message, TimedOperationOf } from '@provost/core'

import { isSecret } from '../attributes/content.ts'
import { attr, own } from '../attributes/semconv.ts'
import type { ChatSpan } from './chat-span.ts'
import { openChat } from './chat-span.ts'
import type { Instruments } from './instruments.ts'
import {
  hasSecretResult,
  isStubModel,
  latestOf,
  returnHandoffTargets,
  usesStubModel,
  waitsSince,
  wasCompacted,
} from './log-fold.ts'
import type { SpanAttributes } from './open-span.ts'
import { fail, mark, present, secondsSince } from './open-span.ts'
import { traceEvent } from './run-events.ts'
import { withSpan } from './span-context.ts'
import type { ToolSpan } from './tool-span.ts'
import { openTool } from './tool-span.ts'
import { fromHeaders, lastSpans, logKeyOf, toHeaders } from './trace-context.ts'

/** The open spans of a run. */
export interface RunTrace {
  readonly span: Span
  aroundModel<T>(op: TimedOperationOf<'model'>, next: () => Promise<T>, ctx: HookContext): Promise<T>
  aroundTool<T>(op: TimedOperationOf<'tool'>, next: () => Promise<T>, ctx: HookContext): Promise<T>
  event(event: AgentEvent, ctx: HookContext): void
  /** Returns the parent span for a child run. */
  spanAbove(childRun: string): Span
  /** The child run reaches its own hooks, where its log is available. */
  linkChild(op: TimedOperationOf<'run' | 'child'>, ctx: HookContext): void
  /** Closes the trace of a run that ended without an event. */
  closeAbandoned(): void
}

/** The part of a run's trace that event handlers change. */
export interface TracedRun {
  readonly parts: Instruments
  /** The span of the run. */
  readonly root: Span
  /** The innermost open span, under which the next one is recorded. */
  current(): Span
  /** Whether what the run does now may quote secret data: arguments, results, errors. */
  isSecret(ctx: HookContext): boolean
  /** Returns the span of a call while it is open. */
  call(callId: string): ToolSpan | undefined
  chat(messageId: string): ChatSpan | undefined
  /** Sets the attributes of the run's start. They are written at its end, when all used secrets are known. */
  noteStart(more: Opening): void
  /** Records a message that was added since the last model call. */
  noteMessage(message: Message, ctx: HookContext): void
  /** Keeps the name of a call that has no span yet, such as a handoff. */
  noteName(callId: string, toolName: string): void
  /** Returns the name of such a call. */
  nameOf(callId: string): string | undefined
  /** Keeps the arguments of a call until it runs. */
  noteArguments(callId: string, input: string): void
  /** Keeps the target of a call that is about to run. */
  noteTarget(callId: string, to: string): void
  settle(callId: string, result: Parameters<ToolSpan['settle']>[0]): boolean
  /** Whether the run exists for this call, which has no span of its own. */
  isOnly(callId: string): boolean
  /** Keeps the result of that call: it is the output of the run. */
  noteOutput(output: Message): void
  /** Returns the message that a run ends with: the result of its only call, or the last one of the model. */
  answer(messages: readonly Message[]): Message | undefined
  /** Opens a span under which the following ones are recorded, until `leave`. */
  enter(key: string, name: string, given: SpanAttributes, startTime?: number): Span
  /** Ends the span and all spans inside. @returns its duration in seconds; undefined when it is not open. */
  leave(key: string): number | undefined
  /** Opens a span for the child runs of a call. */
  fansOut(callId: string, children: ReadonlySet<string | undefined>, given: SpanAttributes): void
  /** Returns the span for the child runs of a call. */
  fanOut(callId: string): Span | undefined
  /** Ends that span. @returns its duration in seconds; undefined when none is open. */
  merged(callId: string, given: SpanAttributes): number | undefined
  /** Start time of the last model call. */
  lastChat(): number | undefined
  compacted(): void
  waitedSince(token: string, ctx: HookContext): number | undefined
  link(ctx: HookContext): void
  close(event: EventOf<'agent.end'>, ctx: HookContext): void
}

interface Opening {
  readonly input?: readonly Message[]
  readonly instructions?: string
}

interface Entered {
  readonly key: string
  readonly span: Span
  readonly started: number
}

interface OpenFanOut {
  readonly span: Span
  readonly started: number
  /** Run ids. */
  readonly children: ReadonlySet<string | undefined>
}

/**
 * Opens the trace of a run.
 *
 * @param over called when the trace ends.
 * @param joins whether the run is already active: another extension may have traced it before.
 */
export function traceRun(
  parts: Instruments,
  op: TimedOperationOf<'run' | 'child'>,
  ctx: HookContext,
  parent: Context,
  over: () => void,
  joins = false,
): RunTrace {
  const { tracer, meters, record } = parts
  const { sessionId } = ctx.run
  const agent = record.name(op.agent)
  const session = record.name(sessionId)
  const shared = present({
    [attr.conversationId]: session,
    [attr.sessionId]: session,
    [attr.userId]: ctx.principal && record.name(ctx.principal.id),
  })
  const base = { [attr.operation]: 'invoke_agent', [attr.agentName]: agent }
  const attributes = {
    ...base,
    ...shared,
    ...present({
      [own.runId]: op.runId,
      [own.parentRun]: ctx.run.id === op.runId ? ctx.run.parents[0] : ctx.run.id,
      [own.resumed]: op.resumed,
    }),
  }
  const span = tracer.startSpan(`invoke_agent ${agent}`, { kind: SpanKind.INTERNAL, attributes }, parent)
  const started = performance.now()
  const entered: Entered[] = []
  const calls = new Map<string, ToolSpan>()
  const inputs = new Map<string, string>()
  const errands = new Map<string, string>()
  /** By call, in order of their start. */
  const fanOuts = new Map<string, OpenFanOut[]>()
  let chats: ChatSpan[] = []
  let fresh: Message[] = []
  let [asked, called] = [0, 0]
  let cut: boolean | undefined
  let lastUnspanned: { readonly callId: string; readonly toolName: string } | undefined
  let opening: Opening = {}
  /** The run exists for its only call, which has no span of its own. */
  let relayed = false
  let only: string | undefined
  let output: Message | undefined
  let closed = false
  /** A model has received a secret request. Its tail is in no view. */
  let sentSecret = false

  // Written together with the run's first entries. A resumed run needs its own first entries for this.
  if (joins) link(ctx)
  else if (!op.resumed && op.kind === 'run') persistContext(ctx)

  function persistContext(at: HookContext): void {
    const headers = toHeaders(span.spanContext())
    if (headers) at.append(logKeyOf(span.spanContext()), headers).catch(() => {})
  }

  /** Records in the log which span of the run is the latest. */
  function link(at: HookContext): void {
    const before = fromHeaders(at.fold(lastSpans)[op.runId])
    if (before) span.addLink({ context: before, attributes: { [own.runId]: op.runId } })
    persistContext(at)
  }

  const current = (): Span => entered.at(-1)?.span ?? span
  /** Returns the active context with this span as the parent of the next one. */
  function contextUnder(above: Span): Context {
    const active = context.active()
    return trace.getSpan(active) === above ? active : withSpan(active, above)
  }

  function endChats(): void {
    for (const chat of chats) chat.end()
    chats = []
  }

  function leave(key: string): number | undefined {
    const index = entered.findLastIndex((one) => one.key === key)
    const left = index < 0 ? [] : entered.splice(index)
    for (const { span: inner } of left.toReversed()) inner.end()
    return left[0] && secondsSince(left[0].started)
  }

  /** Ends all open spans with the run. */
  function finish(suspended = false): void {
    closed = true
    const { input, instructions } = opening
    if (input) span.setAttribute(attr.inputMessages, record.messages(input))
    if (instructions !== undefined) {
      span.setAttribute(attr.instructions, record.json([{ type: 'text', content: instructions }]))
    }
    endChats()
    for (const open of [...fanOuts.values()].flat()) open.span.end()
    fanOuts.clear()
    for (const [callId, call] of calls) {
      calls.delete(callId)
      // A waiting call resumes with the run, in a span of its own.
      const error = suspended ? undefined : { code: 'unfinished', message: 'The run ended before the call did.' }
      call.settle({ ...(error ? { error } : { parked: true }), mayTell: false })
    }
    while (entered.length > 0) entered.pop()?.span.end()
    span.end()
    over()
  }

  const traced: TracedRun = {
    parts,
    root: span,
    current,
    isSecret: (at) => sentSecret || isSecret(at.view.label) || at.fold(hasSecretResult),
    call: (callId) => calls.get(callId),
    chat: (messageId) => chats.find(({ id }) => id === messageId),
    noteStart: (more) => void (opening = { ...opening, ...more }),
    noteMessage(message, at) {
      if (!record.records('messages')) return
      // A result has the label of its tool, which may have repeated arguments of a model that knows secrets.
      const label = message.role === 'tool' && isSecret(at.view.label) ? at.view.label : undefined
      fresh.push(label ? { ...message, content: message.content.map((part) => ({ ...part, label })) } : message)
    },
    noteName: (callId, toolName) => void (lastUnspanned = { callId, toolName }),
    nameOf: (callId) => (lastUnspanned?.callId === callId ? lastUnspanned.toolName : undefined),
    noteArguments: (callId, input) => void inputs.set(callId, input),
    noteTarget: (callId, to) => void errands.set(callId, to),
    isOnly: (callId) => callId === only,
    noteOutput: (message) => void (output = message),
    answer: (messages) => (relayed ? output : messages.findLast(({ role }) => role === 'assistant')),
    settle(callId, result) {
      if (callId === only) return true
      if (errands.size > 0) errands.delete(callId)
      const call = calls.get(callId)
      call?.settle(result)
      return calls.delete(callId)
    },
    enter(key, name, given, startTime) {
      const options = { kind: SpanKind.INTERNAL, attributes: { ...shared, ...present(given) } }
      const made = tracer.startSpan(
        name,
        startTime === undefined ? options : { ...options, startTime },
        contextUnder(current()),
      )
      entered.push({ key, span: made, started: startTime ?? performance.now() })
      return made
    },
    leave,
    fansOut(callId, children, given) {
      const above = calls.get(callId)?.span ?? current()
      const options = { kind: SpanKind.INTERNAL, attributes: { ...shared, ...present(given) } }
      const made = tracer.startSpan('invoke_workflow fan_out', options, contextUnder(above))
      const open = fanOuts.get(callId) ?? []
      fanOuts.set(callId, [...open, { span: made, started: performance.now(), children }])
    },
    fanOut: (callId) => fanOuts.get(callId)?.at(-1)?.span,
    merged(callId, given) {
      const open = fanOuts.get(callId)?.shift()
      open?.span.setAttributes(present(given)).end()
      return open && secondsSince(open.started)
    },
    lastChat: () => chats.at(-1)?.started ?? undefined,
    compacted: () => void (cut = true),
    waitedSince: (token, at) => latestOf(at.fold(waitsSince), token),
    link,
    close(event, at) {
      const { status, usage, cost, error } = event
      const known = { [own.runStatus]: status, [own.steps]: event.step, [own.cost]: cost }
      span.setAttributes(
        present({
          ...known,
          // Not the names of the conventions: a sum over the trace would count everything twice.
          [own.inputTokens]: usage.inputTokens,
          [own.outputTokens]: usage.outputTokens,
          [own.estimated]: usage.estimated,
          'provost.inference_calls': asked,
          'provost.tool_calls': called,
        }),
      )
      const type = status === 'failed' ? fail(span, record, error, !traced.isSecret(at)) : undefined
      const measured = present({ ...base, [own.runStatus]: status, [attr.errorType]: type })
      meters?.agent(secondsSince(started), asked, called, measured)
      finish(status === 'suspended')
    },
  }

  return {
    span,
    aroundModel(ask, next, at) {
      if (closed) return next()
      if (isStubModel(ask.model)) {
        relayed = true
        return next()
      }
      endChats()
      sentSecret ||= isSecret(ask.label)
      const answers = ask.purpose === undefined
      if (answers) asked++
      cut ??= at.fold(wasCompacted)
      const messages = answers && record.records('messages')
      let given: Attributes = cut ? { ...shared, [attr.compacted]: true } : shared
      if (messages) given = { ...given, [attr.inputMessages]: record.messages(fresh) }
      const chat = openChat(parts, ask, contextUnder(current()), given, messages)
      if (answers) fresh = []
      chats.push(chat)
      return chat.run(next)
    },
    aroundTool(ran, next, at) {
      if (closed) return next()
      if (op.resumed) relayed ||= at.fold(usesStubModel)
      if (relayed && (only ??= ran.callId) === ran.callId) return next()
      called++
      const above = ran.parent === undefined ? undefined : calls.get(ran.parent)
      const { callId } = ran
      const input = inputs.size > 0 ? inputs.get(callId) : undefined
      const call = openTool(parts, ran, contextUnder(above?.span ?? current()), shared, at.run.step, input)
      if (inputs.size > 0) inputs.delete(callId)
      // Its start is reported only once. When the call resumes elsewhere, the log has it.
      const begun = op.resumed || joins ? latestOf(at.fold(returnHandoffTargets), callId) : undefined
      const to = errands.get(callId) ?? begun
      if (to !== undefined) call.transfers(to, 'return')
      // The call runs again after a wait.
      calls.get(callId)?.settle({ parked: true, mayTell: false })
      calls.set(callId, call)
      return call.run(next)
    },
    event(event, at) {
      if (!closed) traceEvent(traced, event, at)
    },
    spanAbove(childRun) {
      // The id of a child run is that of the call that spawned it, or begins with it.
      for (let id = childRun; id !== ''; id = id.slice(0, Math.max(0, id.lastIndexOf('/')))) {
        const open = fanOuts.get(id)
        // A child run without a report is a judge: it belongs to the fan-out whose children have ended.
        const above = (open?.find(({ children }) => children.has(childRun)) ?? open?.at(0))?.span ?? calls.get(id)?.span
        if (above) return above
      }
      return current()
    },
    linkChild(entering, at) {
      if (!entering.resumed) persistContext(at)
    },
    closeAbandoned() {
      if (closed) return
      mark(span, 'provost.error')
      fail(span, record, undefined, false)
      finish()
    },
  }
}
