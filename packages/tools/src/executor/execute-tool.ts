import {
  createScrubber,
  isPromise,
  liveFields,
  ProvostError,
  scrubErrorInfo,
  scrubOutput,
  toErrorInfo,
} from '@provost/core'
import type {
  CompositeOps,
  ErrorInfo,
  Json,
  MaybePromise,
  Message,
  Runtime,
  Scrubber,
  ScrubPieces,
  ScrubStream,
  SessionAccess,
  Tool,
  ToolContext,
  ToolQuestion,
} from '@provost/core'

import type { ParsedInput } from '../definition/parse-input.ts'
import { unwrap } from '../definition/rich.ts'
import { runtimeFor } from '../definition/sandbox.ts'
import { declaredSecrets, restoredInput, secretsFor } from '../secrets/call-secrets.ts'
import type { SecretScope } from '../secrets/secret-scope.ts'
import { createCallClock } from './call-clock.ts'
import { createCallSignal } from './call-signal.ts'
import type { CallSignal } from './call-signal.ts'
import { elapsed, failedOutcome } from './outcome.ts'
import type { ToolOutcome } from './outcome.ts'
import { hasEffect, leavesOutcomeOpen } from './unknown-outcome.ts'
import { conclude, jsonOf } from './validate-output.ts'

/** One call of a tool and what surrounds it. */
export interface ToolRun {
  readonly callId: string
  readonly idempotencyKey: string
  /** As it is logged. */
  readonly input: Json
  /** The input from {@link parseInput}. */
  readonly value: unknown
  /** Aborted with the run. */
  readonly signal: AbortSignal
  /** Milliseconds a tool gets to end by itself after an abort. */
  readonly graceMs: number
  readonly runtime: Runtime
  /** The session of the run. */
  readonly access: SessionAccess
  /** The app value of the run. */
  readonly context: unknown
  /** The messages that the model had received when it wrote the call. */
  readonly messages: readonly Message[]
  /** The secrets that the tool may use. Default none. */
  readonly secrets?: SecretScope | undefined
  /** Asks a human for `withinMs` or until the end of the call. Absent: there is no handler. */
  ask?(question: ToolQuestion, until: { readonly withinMs: number; readonly signal: AbortSignal }): Promise<Json>
  progress(data: Json): void
  partial(piece: { readonly delta: string } | { readonly value: Json }): void
  /** Makes what a composite acts through; `signal` is the call's. */
  bridge?(signal: AbortSignal): CompositeBinding
}

/** The operations of a composite. */
export interface CompositeBinding {
  readonly ops: CompositeOps
  /** Calls back when the call parks, because it only waits for answers from outside, and when it resumes. */
  watch(changed: (parked: boolean) => void): void
}

/**
 * Executes a tool and returns its outcome. Never rejects.
 *
 * The call ends with the tool, at `timeoutMs` of the tool, or `graceMs` after an abort, whichever is first. A tool that
 * ignores its signal is abandoned, and its later output is ignored. Only a tool that blocks the thread cannot be ended.
 */
export function runTool(tool: Tool, run: ToolRun): Promise<ToolOutcome> {
  const started = performance.now()
  if (run.signal.aborted) return Promise.resolve(abortedOutcome(tool, 'before it started', 0))
  const signal = createCallSignal(run.signal)
  const bridge = tool.composite ? run.bridge?.(signal.get()) : undefined
  const scrubber = run.secrets?.scrubber ?? unaware
  const call: Call = {
    tool,
    run,
    started,
    signal,
    scrubber,
    values: none,
    entered: false,
    over: false,
    ...(bridge && { bridge }),
  }
  let work: MaybePromise<ToolOutcome>
  try {
    work = perform(call)
  } catch (error) {
    return Promise.resolve(end(call, failure(call, error)))
  }
  return isPromise(work) ? bounded(call, work) : Promise.resolve(end(call, work))
}

const unaware = createScrubber()
const none: ReadonlyMap<string, string> = new Map()

interface Call {
  readonly tool: Tool
  readonly scrubber: Scrubber
  /** Of the secrets that the tool declares. */
  values: ReadonlyMap<string, string>
  /** Of the text that is yielded. */
  pieces?: ScrubStream
  /** Of the values that are yielded, and of reports of progress. */
  yields?: ScrubPieces
  progress?: ScrubPieces
  readonly run: ToolRun
  /** `performance.now()` */
  readonly started: number
  readonly signal: CallSignal
  readonly bridge?: CompositeBinding
  /** The code of the tool has begun. */
  entered: boolean
  /** Later output of the tool is ignored. */
  over: boolean
}

function perform(call: Call): MaybePromise<ToolOutcome> {
  const { tool, run } = call
  const definition = tool['~tool']
  if (!definition.execute)
    throw new ProvostError('tool-remote', `${tool.name} has no execute: it cannot be run here.`, {
      hint: 'Wait for its result from the remote side.',
    })
  if (tool.composite && !call.bridge)
    throw new ProvostError('tool-composite', `${tool.name} is a composite: only an agent can run it.`, {
      hint: 'Let an agent call it, or give runTool a bridge.',
    })
  const values = declaredSecrets(tool, run.secrets)
  return values ? values.then((granted) => performWith(call, granted)) : performWith(call, none)
}

/** Replaces the tokens of the logged input by secret values, and executes the tool. */
function performWith(call: Call, values: ReadonlyMap<string, string>): MaybePromise<ToolOutcome> {
  const { tool, run } = call
  call.values = values
  const restored = restoredInput(tool, run.input, run.secrets, values)
  if (!restored) return executeWith(call, run.value)
  return isPromise(restored) ? restored.then((parsed) => executeParsed(call, parsed)) : executeParsed(call, restored)
}

function executeParsed(call: Call, parsed: ParsedInput): MaybePromise<ToolOutcome> {
  if (!parsed.ok) return failedOutcome(call.tool, 'error', parsed.error, 0)
  return executeWith(call, parsed.value)
}

function executeWith(call: Call, value: unknown): MaybePromise<ToolOutcome> {
  // The call may have ended while its secrets were resolved.
  if (call.over) throw leftBehind(call.tool)
  call.entered = true
  return settle(call, call.tool['~tool'].execute?.(value, contextOf(call)), value)
}

function leftBehind({ name }: Tool): ProvostError {
  return new ProvostError('tool-abandoned', `${name} has ended for its run.`)
}

function settle(call: Call, given: unknown, input: unknown): MaybePromise<ToolOutcome> {
  if (isAsyncIterable(given)) return drain(call, given).then((result) => conclude(call.tool, result, input))
  if (isPromise(given)) return Promise.resolve(given).then((result) => settle(call, result, input))
  return conclude(call.tool, given, input)
}

function contextOf(call: Call): ToolContext {
  const { run, bridge } = call
  const fixed = {
    callId: run.callId,
    runtime: runtimeFor(call.tool, run.runtime),
    fold: (fold) => run.access.fold(fold),
    now: () => run.access.now(),
    blob: (hash) => run.access.blob(hash),
    putBlob: (bytes) => run.access.putBlob(call.scrubber.scrubBytes(bytes)),
    secrets: secretsFor(call.tool, call.values, () => call.over),
    scrub: (text) => call.scrubber.scrub(text),
    context: run.context,
    ask: (question) => put(call, question),
    progress(data) {
      if (call.over) return
      const json = jsonOf(call.tool, data)
      if (call.scrubber.empty) run.progress(json)
      else (call.progress ??= call.scrubber.pieces(run.progress)).push(json)
    },
  } satisfies Omit<ToolContext, keyof LazyContext>
  const context: ToolContext = lazyContext(fixed, call)
  return bridge ? Object.assign(context, bridge.ops) : context
}

type LazyContext = Pick<ToolContext, 'idempotencyKey' | 'signal' | 'session' | 'messages'>

/** Most tools never look: a signal is dear, and so is a copy of a long history. */
const lazyContext = liveFields<Call, LazyContext>({
  idempotencyKey: ({ run }) => run.idempotencyKey,
  signal: ({ signal }) => signal.get(),
  session: ({ run }) => run.access.session,
  messages: ({ run }) => run.messages,
})

/** Characters that a tool may yield as text: more than any result that is kept. */
const maxStreamed = 64 * 1024 * 1024

function tooMuch({ name }: Tool): ProvostError {
  return new ProvostError(
    'tool-output-too-long',
    `${name} yielded more than ${maxStreamed} characters and was ended.`,
    {
      hint: 'Request less.',
    },
  )
}

const longestEndMs = 5_000

/** Asks a human. The question expires before its call does, so that the tool has time to report the outcome. */
async function put({ tool, run, started, signal, over, scrubber }: Call, question: ToolQuestion): Promise<Json> {
  if (!run.ask || over)
    throw new ProvostError('no-elicitation-handler', `The run has no handler for the question of ${tool.name}.`, {
      hint: 'Give the run `onInput`, read its stream, or run it in a session.',
    })
  const { timeoutMs } = tool['~tool']
  const left = timeoutMs - Math.min(longestEndMs, timeoutMs / 10) - (performance.now() - started)
  const { message, schema } = question
  return run.ask(
    { ...question, message: scrubber.scrub(message), ...(schema && { schema: scrubber.scrubJson(schema) }) },
    { withinMs: left, signal: signal.get() },
  )
}

/** Emits each yield and returns the result. */
async function drain(call: Call, iterable: AsyncIterable<unknown>): Promise<unknown> {
  const iterator = iterable[Symbol.asyncIterator]()
  let text: string | undefined = ''
  let last: unknown
  let streamed = 0
  for (;;) {
    const step = await iterator.next()
    if (step.done) {
      const rest = call.pieces?.end() ?? ''
      if (rest !== '' && !call.over) call.run.partial({ delta: rest })
      return step.value === undefined ? (text === undefined ? last : text) : step.value
    }
    try {
      // A throw inside lets the generator clean up.
      if (call.over) throw leftBehind(call.tool)
      last = step.value
      if (typeof last === 'string') {
        if (text !== undefined) text += last
        streamed += last.length
        if (streamed > maxStreamed) throw tooMuch(call.tool)
        emitChunk(call, last)
      } else {
        text = undefined
        // In `rich`, a text is a whole value, not the next piece of one.
        emitValue(call, jsonOf(call.tool, unwrap(last).value))
      }
    } catch (error) {
      void Promise.resolve(iterator.return?.()).catch(() => undefined)
      throw error
    }
  }
}

function emitChunk(call: Call, piece: string): void {
  const delta = call.scrubber.empty ? piece : (call.pieces ??= call.scrubber.stream()).push(piece)
  if (delta !== '' || piece === '') call.run.partial({ delta })
}

function emitValue(call: Call, value: Json): void {
  const tell = (shown: Json): void => call.run.partial({ value: shown })
  if (call.scrubber.empty) tell(value)
  else (call.yields ??= call.scrubber.pieces(tell)).push(value)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Milliseconds that a composite has to report its time-out to the caller. */
const lastWordsMs = 200

/**
 * Returns the outcome of running work, or that of abandoning it. A composite may report its time-out itself, with a
 * `ProvostError` whose cause is the reason of its signal.
 */
function bounded(call: Call, work: PromiseLike<ToolOutcome>): Promise<ToolOutcome> {
  const { tool, run } = call
  const { timeoutMs } = tool['~tool']
  return new Promise((resolve) => {
    let grace: NodeJS.Timeout | undefined
    let expired: ProvostError | undefined
    const giveUp = (error: ProvostError): void =>
      finish(unanswered(tool, failedOutcome(tool, 'timeout', error.toJSON(), elapsed(call.started))))
    const finish = (outcome: ToolOutcome): void => {
      if (call.over) return
      clock.stop()
      clearTimeout(grace)
      run.signal.removeEventListener('abort', onAbort)
      resolve(end(call, outcome))
    }
    const clock = createCallClock(timeoutMs, () => {
      expired = timeoutError(tool, timeoutMs)
      if (tool.composite) grace = setTimeout(giveUp, lastWordsMs, expired)
      else giveUp(expired)
      call.signal.abort(expired)
    })
    clock.start()
    call.bridge?.watch((parked) => (parked ? clock.stop() : call.over || clock.start()))
    const onAbort = (): void => {
      // Nested calls stop when the time of their composite is over. That is not an abort of the run.
      if (expired) return
      grace = setTimeout(() => finish(abortedOutcome(tool, 'before it ended', elapsed(call.started))), run.graceMs)
    }
    if (run.signal.aborted) onAbort()
    else run.signal.addEventListener('abort', onAbort, { once: true })
    work.then(
      (outcome) => (expired ? giveUp(expired) : finish(outcome)),
      (error: unknown) => {
        if (!expired) finish(failure(call, error))
        else giveUp(error instanceof ProvostError && error.cause === expired ? error : expired)
      },
    )
  })
}

function end(call: Call, outcome: ToolOutcome): ToolOutcome {
  // The withheld rest is no secret, since nothing follows.
  call.progress?.end()
  call.yields?.end()
  call.over = true
  call.signal.release()
  const timed = outcome.durationMs > 0 ? outcome : { ...outcome, durationMs: elapsed(call.started) }
  return call.scrubber.empty ? timed : scrubbed(call.scrubber, timed)
}

/** Returns the outcome without secrets. */
function scrubbed(scrubber: Scrubber, outcome: ToolOutcome): ToolOutcome {
  const { output, value, details, error } = outcome
  return {
    ...outcome,
    output: scrubOutput(scrubber, output),
    ...(value !== undefined && { value: scrubber.scrubJson(value) }),
    ...(details !== undefined && { details: scrubber.scrubJson(details) }),
    ...(error && { error: scrubErrorInfo(scrubber, error) }),
  }
}

/** Returns the outcome for an error. An error during an abort of the run counts as the abort. */
function failure({ tool, run, started, entered }: Call, error: unknown): ToolOutcome {
  const durationMs = elapsed(started)
  if (run.signal.aborted) return abortedOutcome(tool, 'before it ended', durationMs)
  const info = toErrorInfo(error, 'tool-failed')
  // A lookup costs little, so it decides about every error of its tool.
  const isOpen = entered && hasEffect(tool) && (tool['~tool'].lookup !== undefined || leavesOutcomeOpen(error))
  if (!isOpen) return failedOutcome(tool, 'error', info, durationMs)
  return { ...failedOutcome(tool, 'error', { ...unknownHint(tool), ...info }, durationMs), unknown: true }
}

/** Returns the outcome of a call that ended without an answer. */
function unanswered(tool: Tool, outcome: ToolOutcome): ToolOutcome {
  return hasEffect(tool) ? { ...outcome, unknown: true } : outcome
}

function abortedOutcome(tool: Tool, when: string, durationMs: number): ToolOutcome {
  const error: ErrorInfo = { code: 'tool-aborted', message: `${tool.name} was aborted ${when}.` }
  if (when === 'before it started') return failedOutcome(tool, 'aborted', error, durationMs)
  return unanswered(tool, failedOutcome(tool, 'aborted', { ...error, ...unknownHint(tool) }, durationMs))
}

function timeoutError(tool: Tool, timeoutMs: number): ProvostError {
  const { hint = 'Try a smaller request.' } = unknownHint(tool)
  return new ProvostError('tool-timeout', `${tool.name} did not end within ${timeoutMs} ms and was abandoned.`, {
    hint,
  })
}

/** Returns a hint for an abandoned tool whose effect is unknown. */
function unknownHint({ effect, idempotent }: Tool): { hint?: string } {
  if (idempotent || effect === 'none' || effect === 'read') return {}
  return { hint: 'It may have taken effect: check before you repeat it.' }
}
