import type { Json, Message, OnApproval, OnBatch, OnInput, PendingApproval, PendingWork } from '@provost/core'
import { fromErrorInfo, isRecord, noPendingWork, toJson } from '@provost/core'

import type { ClientResult } from './client-options.ts'
import type { ClientTool } from './client-tool.ts'
import { runClientTool } from './client-tool.ts'
import type { EventQueue } from './event-queue.ts'
import { createEventQueue } from './event-queue.ts'
import type { Complete } from './frame-reader.ts'
import { framesOf } from './frame-reader.ts'
import type { RunEvents } from './run-events.ts'
import { createRunEvents } from './run-events.ts'
import { ServerError } from './server-error.ts'
import type { Ask, Transport } from './transport.ts'
import { lost } from './transport.ts'

/** Callbacks and tools that answer pending waits. */
export interface Answering {
  readonly tools: ReadonlyMap<string, ClientTool>
  readonly onApproval?: OnApproval | undefined
  readonly onBatch?: OnBatch | undefined
  readonly onInput?: OnInput | undefined
}

/** Options with which a stream is opened. */
export interface StreamSetup extends Answering {
  readonly transport: Transport
  /** The first request. */
  readonly first: Ask
  readonly lastEventId?: string | undefined
  /** Stops reading. */
  readonly signal: AbortSignal
  readonly reconnectMs: number
  /** Called when the server has sent the id of the session. */
  opened(sessionId: string): void
}

/** Reads a run to its end. @returns its events and its result. */
export function openStream(setup: StreamSetup): { events: EventQueue; result: Promise<ClientResult> } {
  const queue = createEventQueue()
  const result = pump(setup, queue).finally(queue.close)
  // The iterator ends either way; the caller reads the error from `result`, which may stay unread.
  result.catch(() => {})
  return { events: queue, result }
}

/** The progress of a run as this client knows it. */
interface Progress {
  sessionId: string | undefined
  lastEventId: string | undefined
  messages: readonly Message[]
}

async function pump(setup: StreamSetup, queue: EventQueue): Promise<ClientResult> {
  const { transport, signal, opened } = setup
  const events = createRunEvents()
  const progress: Progress = { sessionId: undefined, lastEventId: setup.lastEventId, messages: [] }
  let ask: Ask | undefined = setup.first
  const patience = createPatience(setup.reconnectMs, signal)
  for (;;) {
    try {
      const response = await transport({ ...(ask ?? again(progress)), signal })
      progress.sessionId = response.headers.get('x-session-id') ?? progress.sessionId
      if (progress.sessionId !== undefined) opened(progress.sessionId)
      // The server has accepted the request: from now on the stream only follows.
      if (progress.sessionId !== undefined) ask = undefined
      const complete = await read(framesOf(response, signal), events, progress, queue, patience.progress)
      const answers = complete.status === 'suspended' ? await answersTo(complete.pending, setup) : undefined
      if (!answers) {
        for (const event of events.release()) queue.push(event)
        return resultOf(complete, progress)
      }
      events.forget()
      ask = answering(progress, answers)
    } catch (thrown) {
      signal.throwIfAborted()
      // Another client decided first, or the decision arrived before the connection broke.
      if (thrown instanceof ServerError && thrown.code === 'already-decided') ask = undefined
      else if (!isPassing(thrown)) throw thrown
      await patience.wait(thrown)
    }
  }
}

async function read(
  frames: ReturnType<typeof framesOf>,
  events: RunEvents,
  progress: Progress,
  queue: EventQueue,
  moved: () => void,
): Promise<Complete> {
  for await (const frame of frames) {
    if ('complete' in frame) return frame.complete
    const { id, event } = frame
    // A repeated event is no progress, so it does not extend the time for reconnecting.
    if (id === undefined || id !== progress.lastEventId) moved()
    if (id !== undefined) progress.lastEventId = id
    if (event.type === 'agent.end' && event.parents.length === 0) progress.messages = event.messages
    for (const one of events.take(event)) queue.push(one)
  }
  throw lost('The event stream ended before its run.')
}

function again({ sessionId, lastEventId }: Progress): Ask {
  return {
    path: `/api/agent/session/${encodeURIComponent(sessionId ?? '')}/events`,
    ...(lastEventId !== undefined && { headers: { 'last-event-id': lastEventId } }),
  }
}

function answering({ sessionId, lastEventId }: Progress, answers: { readonly [key: string]: Json }): Ask {
  return {
    path: '/api/agent/execute',
    body: { sessionId: sessionId ?? '', ...answers },
    headers: {
      'idempotency-key': crypto.randomUUID(),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  }
}

/** Returns the decisions that this client can make for the pending waits; undefined if it can make none. */
async function answersTo(
  pending: PendingWork,
  { tools, onApproval, onBatch, onInput, signal }: StreamSetup,
): Promise<{ readonly [key: string]: Json } | undefined> {
  const toolResults = pending.remoteCalls.flatMap(({ callId, toolName, input }) => {
    const tool = tools.get(toolName)
    return tool ? [runClientTool(tool, input, { callId, signal })] : []
  })
  const isRow = ({ batch }: PendingApproval): boolean => onBatch !== undefined && batch !== undefined
  const alone = pending.approvals.filter((approval) => !isRow(approval))
  const approvals = alone.map(async (approval) => decisionOn(approval.id, await onApproval?.(approval)))
  const grouped = Map.groupBy(pending.approvals.filter(isRow), ({ batch = '' }) => batch)
  const batches = [...grouped].map(async ([id, rows]) => decisionOn(id, await onBatch?.(rows)))
  const inputs = pending.inputs.map(async (input) => {
    const value = await onInput?.(input)
    return value === undefined ? [] : [{ id: input.id, value: toJson(value) }]
  })
  const answers = {
    toolResults: await Promise.all(toolResults),
    approvals: (await Promise.all(approvals)).flat(),
    batches: (await Promise.all(batches)).flat(),
    inputs: (await Promise.all(inputs)).flat(),
  }
  const decisions = Object.entries(answers).filter(([, list]) => list.length > 0)
  return decisions.length > 0 ? Object.fromEntries(decisions) : undefined
}

/** Returns a decision without `by`: the server sets the deciding principal. */
function decisionOn(id: string, answer: Awaited<ReturnType<OnApproval | OnBatch>>): readonly Json[] {
  if (answer === undefined) return []
  const { by: _, ...decided } = typeof answer === 'string' ? { decision: answer, by: undefined } : answer
  return [toJson({ id, ...decided })]
}

function resultOf(complete: Complete, { messages, lastEventId }: Progress): ClientResult {
  const { type: _, error, usage = { byModel: {} }, pending, ...rest } = complete
  return {
    ...rest,
    messages,
    usage,
    pending: isRecord(pending) ? pending : noPendingWork,
    ...(error && { error: fromErrorInfo(error) }),
    ...(lastEventId !== undefined && { lastEventId }),
  }
}

function isPassing(thrown: unknown): boolean {
  return isRecord(thrown) && thrown['retryable'] === true && thrown['code'] !== 'session-busy'
}

interface Patience {
  progress(): void
  /** Waits before the next attempt. @throws the given error when the time for reconnecting is over. */
  wait(thrown: unknown): Promise<void>
}

function createPatience(mostMs: number, signal: AbortSignal): Patience {
  let since: number | undefined
  let tries = 0
  return {
    progress() {
      since = undefined
      tries = 0
    },
    async wait(thrown) {
      const now = performance.now()
      since ??= now
      if (now - since > mostMs) throw thrown
      const requestedDelay = thrown instanceof ServerError ? thrown.retryAfterMs : undefined
      // Random delays keep many clients of a lost server from reconnecting at the same moment.
      const own = tries === 0 ? 0 : Math.min(2_000, 100 * 2 ** tries) * (0.5 + Math.random() / 2)
      tries++
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(requestedDelay ?? own, 30_000))
        signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
      })
    },
  }
}
