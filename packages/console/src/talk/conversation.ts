import type { AgentEvent, FilePart, Json, Message, ToolOutput } from '@provost/core'

/** How far a call is. */
export type CallState = 'writing' | 'called' | 'asked' | 'running' | 'done' | 'failed' | 'denied' | 'skipped'

/** A tool call with its result. */
export interface Call {
  readonly callId: string
  readonly toolName: string
  readonly state: CallState
  /** The arguments; while they are being written, their text so far. */
  readonly input?: Json | undefined
  readonly written?: string | undefined
  readonly output?: ToolOutput | undefined
  readonly label?: Message['label'] | undefined
  readonly durationMs?: number | undefined
  readonly reason?: string | undefined
  /** What a child of the call does at present. */
  readonly activity?: string | undefined
}

/** A piece of a turn. A call is in {@link Conversation.calls}. */
export type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly type: 'call'; readonly id: string }
  | { readonly type: 'file'; readonly id: string; readonly file: FilePart }

/** A message as the conversation shows it. */
export interface Turn {
  readonly id: string
  readonly role: Message['role']
  readonly agent?: string | undefined
  readonly label?: Message['label'] | undefined
  /** Absent where the server withholds secrets. */
  readonly at: number | undefined
  readonly pieces: readonly Piece[]
  readonly error?: Message['error'] | undefined
  /** The message is being written. */
  readonly isOpen?: boolean
}

/** The messages of a session and its calls, as they are at present. */
export interface Conversation {
  readonly turns: readonly Turn[]
  readonly calls: Readonly<Record<string, Call>>
  /** Inputs that wait for the end of the run, and those that the run has not taken yet. */
  readonly queued: readonly Queued[]
}

/** Input that the run has not taken yet. */
export interface Queued {
  readonly id: string
  readonly text: string
  readonly files: readonly FilePart[]
}

/** Returns the conversation that the messages of a session are. */
export function conversationOf(messages: readonly Message[]): Conversation {
  const empty: Conversation = { turns: [], calls: {}, queued: [] }
  return messages.reduce(withMessage, empty)
}

/** Says of calls without a result what their session says: they wait for an approval, or the run is at them. */
export function withOpenCalls(before: Conversation, isRunning: boolean, asked: ReadonlySet<string>): Conversation {
  const calls = Object.entries(before.calls).map(([id, call]): [string, Call] => {
    if (call.state !== 'called') return [id, call]
    if (asked.has(id)) return [id, { ...call, state: 'asked' }]
    return [id, isRunning ? { ...call, state: 'running' } : call]
  })
  return { ...before, calls: Object.fromEntries(calls) }
}

function withMessage(before: Conversation, message: Message): Conversation {
  const calls: Record<string, Call> = { ...before.calls }
  for (const part of message.content) {
    if (part.type === 'tool-call') {
      const { callId, toolName, input } = part
      calls[callId] = {
        ...calls[callId],
        callId,
        toolName,
        input,
        state: calls[callId]?.state ?? 'called',
        written: undefined,
      }
    } else if (part.type === 'tool-result') {
      const { callId, toolName, output } = part
      const known = calls[callId] ?? { callId, toolName, state: 'called' }
      calls[callId] = { ...known, output, label: part.label ?? message.label, state: stateOf(output) }
    }
  }
  // The results of a tool message are shown with their calls.
  if (message.role === 'tool' || message.role === 'system') return { ...before, calls }
  const turn = turnOf(message)
  const at = before.turns.findIndex(({ id }) => id === turn.id)
  const turns = at < 0 ? [...before.turns, turn] : before.turns.with(at, turn)
  return { ...before, calls, turns, queued: before.queued.filter(({ id }) => id !== message.id) }
}

function stateOf(output: ToolOutput): CallState {
  if (output.type === 'execution-denied') return 'denied'
  return output.type === 'error-text' || output.type === 'error-json' ? 'failed' : 'done'
}

function turnOf({ id, role, agent, label, createdAt, content, error }: Message): Turn {
  const pieces = content.flatMap((part, index): readonly Piece[] => {
    if (part.type === 'text' || part.type === 'reasoning')
      return [{ type: part.type, id: `${id}/${index}`, text: part.text }]
    if (part.type === 'tool-call') return [{ type: 'call', id: part.callId }]
    if (part.type === 'file') return [{ type: 'file', id: `${id}/${index}`, file: part }]
    return []
  })
  return { id, role, agent, label, at: createdAt, pieces, error }
}

/** Returns the conversation after an event. Text of a discarded attempt is gone. */
export function withEvent(before: Conversation, event: AgentEvent): Conversation {
  if (event.parents.length > 0) return withChild(before, event)
  switch (event.type) {
    case 'agent.start':
      return event.input.reduce(withMessage, before)
    case 'message.start':
      if (event.role !== 'assistant') return before
      return withTurn(before, {
        id: keyOf(event),
        role: 'assistant',
        agent: event.agent,
        at: event.at,
        pieces: [],
        isOpen: true,
      })
    case 'text.delta':
      return grown(before, keyOf(event), { type: 'text', id: event.partId, text: event.delta })
    case 'reasoning.delta':
      return grown(before, keyOf(event), { type: 'reasoning', id: event.partId, text: event.delta })
    case 'tool.call.start': {
      const { callId, toolName } = event
      const called = withCall(before, { callId, toolName, state: 'writing', written: '' })
      return grown(called, keyOf(event), { type: 'call', id: callId })
    }
    case 'tool.call.delta': {
      const written = (before.calls[event.callId]?.written ?? '') + event.delta
      return withCall(before, { callId: event.callId, toolName: event.toolName, state: 'writing', written })
    }
    case 'tool.call.end': {
      const { callId, toolName, input } = event
      return withCall(before, { callId, toolName, input, state: 'called', written: undefined })
    }
    case 'message.end': {
      const rest = { ...before, turns: before.turns.filter(({ id }) => id !== keyOf(event)) }
      return event.discarded ? rest : withMessage(rest, event.message)
    }
    case 'tool.execute.start': {
      const { callId, toolName, input } = event
      // The calls of a composite are not the model's.
      return callId in before.calls ? withCall(before, { callId, toolName, input, state: 'running' }) : before
    }
    case 'tool.execute.end': {
      const { callId, toolName, output, label, durationMs } = event
      if (!(callId in before.calls)) return before
      return withCall(before, {
        callId,
        toolName,
        output,
        label,
        durationMs,
        state: stateOf(output),
        activity: undefined,
      })
    }
    case 'tool.execute.error': {
      const { callId, toolName, error, durationMs } = event
      if (!(callId in before.calls)) return before
      return withCall(before, {
        callId,
        toolName,
        durationMs,
        state: 'failed',
        reason: error.message,
        activity: undefined,
      })
    }
    case 'tool.skipped':
      return event.callId in before.calls ? withCall(before, { ...event, state: 'skipped' }) : before
    case 'tool.approval.requested':
      return event.callId in before.calls
        ? withCall(before, { callId: event.callId, toolName: event.toolName, state: 'asked', reason: event.reason })
        : before
    case 'tool.approval.resolved':
      return event.callId in before.calls
        ? withCall(before, { callId: event.callId, toolName: event.toolName, state: 'called', reason: undefined })
        : before
    case 'agent.followup.queued': {
      const { rest, files } = withoutSent(before, event.text)
      return { ...before, queued: [...rest, { id: event.messageId, text: event.text, files }] }
    }
    case 'agent.steered': {
      const { messageId: id, text, at } = event
      const { rest, files } = withoutSent(before, text)
      const pieces: readonly Piece[] = [
        ...(text === '' ? [] : [{ type: 'text' as const, id: `${id}/0`, text }]),
        ...files.map((file, n) => ({ type: 'file' as const, id: `${id}/${n + 1}`, file })),
      ]
      return withTurn({ ...before, queued: rest }, { id, role: 'user', at, pieces })
    }
    default:
      return before
  }
}

const sentPrefix = 'sent:'

/** Shows input that this page has sent, until the run says that it has it. */
export function withSent(before: Conversation, text: string, files: readonly FilePart[]): Conversation {
  return { ...before, queued: [...before.queued, { id: sentPrefix + crypto.randomUUID(), text, files }] }
}

/** Takes input of this page out of the queue. The event has its text alone; the page has its files. */
function withoutSent(
  { queued }: Conversation,
  text: string,
): Pick<Queued, 'files'> & { readonly rest: readonly Queued[] } {
  const at = queued.findIndex((one) => one.id.startsWith(sentPrefix) && one.text === text)
  return at < 0 ? { rest: queued, files: [] } : { rest: queued.toSpliced(at, 1), files: queued[at]?.files ?? [] }
}

function keyOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}#${attempt}`
}

function withTurn(before: Conversation, turn: Turn): Conversation {
  const at = before.turns.findIndex(({ id }) => id === turn.id)
  const queued = before.queued.filter(({ id }) => id !== turn.id)
  return { ...before, queued, turns: at < 0 ? [...before.turns, turn] : before.turns.with(at, turn) }
}

function withCall(
  before: Conversation,
  call: Partial<Call> & Pick<Call, 'callId' | 'toolName' | 'state'>,
): Conversation {
  const { callId, toolName, state, input, written, output, label, durationMs, reason, activity } = call
  const given = { input, written, output, label, durationMs, reason, activity }
  const named = Object.fromEntries(Object.entries(given).filter(([name]) => name in call))
  return {
    ...before,
    calls: { ...before.calls, [callId]: { ...before.calls[callId], callId, toolName, state, ...named } },
  }
}

/** Adds a piece to an open turn, or text to its last piece. */
function grown(before: Conversation, id: string, piece: Piece): Conversation {
  const at = before.turns.findLastIndex((turn) => turn.id === id)
  const turn = before.turns[at]
  if (!turn) return before
  const last = turn.pieces.at(-1)
  const isMore =
    last &&
    piece.type !== 'call' &&
    last.type === piece.type &&
    last.id === piece.id &&
    'text' in last &&
    'text' in piece
  const pieces = isMore
    ? turn.pieces.with(turn.pieces.length - 1, { ...last, text: last.text + piece.text })
    : turn.pieces.some((one) => one.type === 'call' && piece.type === 'call' && one.id === piece.id)
      ? turn.pieces
      : [...turn.pieces, piece]
  return { ...before, turns: before.turns.with(at, { ...turn, pieces }) }
}

/** A child shows what it does in the line of its call. */
function withChild(before: Conversation, event: AgentEvent): Conversation {
  const does =
    event.type === 'step.start'
      ? `step ${event.step}`
      : event.type === 'tool.execute.start'
        ? `calls ${event.toolName}`
        : event.type === 'tool.approval.requested'
          ? `waits for an approval of ${event.toolName}`
          : undefined
  if (does === undefined) return before
  // The id of a child begins with that of the call that spawned it.
  const path = [...event.parents, event.runId]
  const call = Object.values(before.calls).find(
    ({ callId, state }) => state === 'running' && path.some((run) => run === callId || run.startsWith(`${callId}/`)),
  )
  return call ? withCall(before, { ...call, activity: `${event.agent}: ${does}` }) : before
}
