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

/** A piece of a turn. */
export type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly call: Call }
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

/** The messages of a session with their calls, as they are at present. */
export interface Conversation {
  readonly turns: readonly Turn[]
  /** Inputs that wait for the end of the run, and those that the run has not taken yet. */
  readonly queued: readonly Queued[]
}

/** Input that the run has not taken yet. */
export interface Queued {
  readonly id: string
  readonly text: string
  readonly files: readonly FilePart[]
}

const nothing: Conversation = { turns: [], queued: [] }

/** Returns the conversation that the messages of a session are. The work grows with their number, not with its square. */
export function conversationOf(messages: readonly Message[]): Conversation {
  const turns = new Map<string, Turn>()
  const asking = new Map<string, string>()
  for (const message of messages) {
    for (const part of message.content) {
      if (part.type !== 'tool-result') continue
      const turn = turns.get(asking.get(part.callId) ?? '')
      if (turn) turns.set(turn.id, withCallIn(turn, resultOf(part, message)))
    }
    if (!isTurn(message)) continue
    turns.set(
      message.id,
      turnOf(message, () => undefined),
    )
    for (const part of message.content) if (part.type === 'tool-call') asking.set(part.callId, message.id)
  }
  return { ...nothing, turns: [...turns.values()] }
}

/** Says of calls without a result what their session says: they wait for an approval, or the run is at them. */
export function withOpenCalls(before: Conversation, isRunning: boolean, asked: ReadonlySet<string>): Conversation {
  const turns = before.turns.map((turn) => {
    if (!turn.pieces.some((piece) => piece.type === 'call' && piece.call.state === 'called')) return turn
    const pieces = turn.pieces.map((piece): Piece => {
      if (piece.type !== 'call' || piece.call.state !== 'called') return piece
      const state = asked.has(piece.id) ? 'asked' : isRunning ? 'running' : 'called'
      return { ...piece, call: { ...piece.call, state } }
    })
    return { ...turn, pieces }
  })
  return { ...before, turns }
}

function withMessage(before: Conversation, message: Message): Conversation {
  const settled = message.content.reduce(
    (now, part) => (part.type === 'tool-result' ? withCall(now, resultOf(part, message)) : now),
    before,
  )
  if (!isTurn(message)) return settled
  const turn = turnOf(message, (callId) => callIn(settled, callId))
  return withTurn(settled, turn)
}

/** The results of a tool message are shown with their calls. */
function isTurn({ role }: Message): boolean {
  return role !== 'tool' && role !== 'system'
}

type ResultPart = Extract<Message['content'][number], { type: 'tool-result' }>

function resultOf({ callId, toolName, output, label }: ResultPart, message: Message): CallChange {
  return { callId, toolName, output, label: label ?? message.label, state: stateOf(output) }
}

function stateOf(output: ToolOutput): CallState {
  if (output.type === 'execution-denied') return 'denied'
  return output.type === 'error-text' || output.type === 'error-json' ? 'failed' : 'done'
}

function turnOf(
  { id, role, agent, label, createdAt, content, error }: Message,
  known: (callId: string) => Call | undefined,
): Turn {
  const pieces = content.flatMap((part, index): readonly Piece[] => {
    if (part.type === 'text' || part.type === 'reasoning')
      return [{ type: part.type, id: `${id}/${index}`, text: part.text }]
    if (part.type === 'tool-call') {
      const { callId, toolName, input } = part
      const before = known(callId)
      const call: Call = { ...before, callId, toolName, input, state: before?.state ?? 'called', written: undefined }
      return [{ type: 'call', id: callId, call }]
    }
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
        id: event.messageId,
        role: 'assistant',
        agent: event.agent,
        at: event.at,
        pieces: [],
        isOpen: true,
      })
    case 'text.delta':
      return grown(before, event.messageId, { type: 'text', id: event.partId, text: event.delta })
    case 'reasoning.delta':
      return grown(before, event.messageId, { type: 'reasoning', id: event.partId, text: event.delta })
    case 'tool.call.start': {
      const { callId, toolName } = event
      const call: Call = { callId, toolName, state: 'writing', written: '' }
      return grown(before, event.messageId, { type: 'call', id: callId, call })
    }
    case 'tool.call.delta': {
      const written = (callIn(before, event.callId)?.written ?? '') + event.delta
      return withCall(before, { callId: event.callId, toolName: event.toolName, state: 'writing', written })
    }
    case 'tool.call.end': {
      const { callId, toolName, input } = event
      return withCall(before, { callId, toolName, input, state: 'called', written: undefined })
    }
    case 'message.end': {
      if (!event.discarded) return withMessage(before, event.message)
      return { ...before, turns: before.turns.filter(({ id }) => id !== event.messageId) }
    }
    case 'tool.execute.start': {
      const { callId, toolName, input } = event
      return withCall(before, { callId, toolName, input, state: 'running' })
    }
    case 'tool.execute.end': {
      const { callId, toolName, output, label, durationMs } = event
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
      return withCall(before, { ...event, state: 'skipped' })
    case 'tool.approval.requested':
      return withCall(before, {
        callId: event.callId,
        toolName: event.toolName,
        state: 'asked',
        reason: event.reason,
      })
    case 'tool.approval.resolved':
      return withCall(before, {
        callId: event.callId,
        toolName: event.toolName,
        state: 'called',
        reason: undefined,
      })
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

/** Puts a turn in the place of the one with its id, or at the end. */
function withTurn(before: Conversation, turn: Turn): Conversation {
  const at = before.turns.findLastIndex(({ id }) => id === turn.id)
  const queued = before.queued.filter(({ id }) => id !== turn.id)
  return { ...before, queued, turns: at < 0 ? [...before.turns, turn] : before.turns.with(at, turn) }
}

type CallChange = Partial<Call> & Pick<Call, 'callId' | 'toolName' | 'state'>

/** Changes a call. One that no turn has, such as the call of a composite, is not the model's: nothing changes. */
function withCall(before: Conversation, change: CallChange): Conversation {
  const at = before.turns.findLastIndex((turn) => hasCall(turn, change.callId))
  const turn = before.turns[at]
  return turn ? { ...before, turns: before.turns.with(at, withCallIn(turn, change)) } : before
}

function withCallIn(turn: Turn, change: CallChange): Turn {
  const { callId, toolName, state, input, written, output, label, durationMs, reason, activity } = change
  const given = { input, written, output, label, durationMs, reason, activity }
  const named = Object.fromEntries(Object.entries(given).filter(([name]) => name in change))
  const pieces = turn.pieces.map((piece) =>
    piece.type === 'call' && piece.id === callId
      ? { ...piece, call: { ...piece.call, callId, toolName, state, ...named } }
      : piece,
  )
  return { ...turn, pieces }
}

/** Whether a turn asks for a call. */
export function hasCall({ pieces }: Turn, callId: string): boolean {
  return pieces.some(({ type, id }) => type === 'call' && id === callId)
}

function callIn({ turns }: Conversation, callId: string): Call | undefined {
  const piece = turns
    .findLast((turn) => hasCall(turn, callId))
    ?.pieces.find(({ type, id }) => type === 'call' && id === callId)
  return piece?.type === 'call' ? piece.call : undefined
}

/** Adds a piece to an open turn, or text to its last piece. */
function grown(before: Conversation, id: string, piece: Piece): Conversation {
  const at = before.turns.findLastIndex((turn) => turn.id === id)
  const turn = before.turns[at]
  if (!turn) return before
  const last = turn.pieces.at(-1)
  const isMore = last && last.type === piece.type && last.id === piece.id && 'text' in last && 'text' in piece
  const pieces = isMore
    ? turn.pieces.with(turn.pieces.length - 1, { ...last, text: last.text + piece.text })
    : piece.type === 'call' && hasCall(turn, piece.id)
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
  const isCaller = (piece: Piece): boolean =>
    piece.type === 'call' &&
    piece.call.state === 'running' &&
    path.some((run) => run === piece.id || run.startsWith(`${piece.id}/`))
  const piece = before.turns.findLast(({ pieces }) => pieces.some(isCaller))?.pieces.find(isCaller)
  return piece?.type === 'call' ? withCall(before, { ...piece.call, activity: `${event.agent}: ${does}` }) : before
}
