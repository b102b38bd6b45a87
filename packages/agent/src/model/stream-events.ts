import type { EventPayloads, EventType, Message, RequestEdit } from '@provost/core'
import { assertNever } from '@provost/core'
import type { StreamChunk } from '@provost/provider'

import type { RunContext } from '../types/run-context.ts'
import { linkGate } from './held-links.ts'
import { streamRedaction } from './stream-redaction.ts'

/** Turns the chunks of one attempt into events as they arrive, or later where a hook holds them back. */
export interface StreamEvents {
  readonly emit: (piece: StreamChunk) => void
  /** Emits the held chunks. For a message that a hook replaced, emits its new text and the kept calls. */
  release(message: Message): void
  /** Whether listeners have seen the message begin. */
  begun(): boolean
  /** Whether something is held back. */
  holds(): boolean
}

type Hold = NonNullable<RequestEdit['hold']>

/** Returns the event emitter of one attempt at a message. */
export function streamEvents(ctx: RunContext, messageId: string, hold: Hold | undefined): StreamEvents {
  const { logWriter, step, attempt } = ctx
  const held: StreamChunk[] = []
  /** Chunks that listeners receive next. */
  const waiting: StreamChunk[] = []
  const { scrubber } = ctx.secrets
  let scrubbed: ReturnType<typeof streamRedaction> | undefined
  let begun = false
  let telling = false

  function send<K extends EventType>(type: K, payload: EventPayloads[K]): void {
    if (!begun) {
      begun = true
      logWriter.opened(messageId, attempt)
      logWriter.emit('message.start', { messageId, attempt, role: 'assistant' }, step)
    }
    logWriter.emit(type, payload, step)
  }

  /** Emits chunks one at a time. A listener that aborts the run adds end chunks during its notification; those wait. */
  function emit(piece: StreamChunk): void {
    if (scrubber.empty) waiting.push(piece)
    else waiting.push(...(scrubbed ??= streamRedaction(scrubber))(piece))
    if (telling) return
    telling = true
    try {
      for (let next = waiting.shift(); next; next = waiting.shift()) tell(next)
    } finally {
      telling = false
      if (waiting.length > 0) waiting.length = 0
    }
  }

  function tell(piece: StreamChunk): void {
    switch (piece.type) {
      case 'text-start':
        return send('text.start', { messageId, attempt, partId: piece.partId })
      case 'text-delta':
        return send('text.delta', { messageId, attempt, partId: piece.partId, delta: piece.delta })
      case 'text-end':
        return send('text.end', { messageId, attempt, partId: piece.partId, text: piece.text })
      case 'reasoning-start':
        return send('reasoning.start', { messageId, attempt, partId: piece.partId })
      case 'reasoning-delta':
        return send('reasoning.delta', { messageId, attempt, partId: piece.partId, delta: piece.delta })
      case 'reasoning-end':
        return send('reasoning.end', { messageId, attempt, partId: piece.partId, text: piece.text })
      case 'tool-call-start':
        return send('tool.call.start', {
          messageId,
          attempt,
          callId: piece.callId,
          toolName: piece.toolName,
          index: piece.index,
        })
      case 'tool-call-delta':
        return send('tool.call.delta', {
          messageId,
          attempt,
          callId: piece.callId,
          toolName: piece.toolName,
          index: piece.index,
          delta: piece.delta,
        })
      case 'tool-call-end':
        return send('tool.call.end', {
          messageId,
          attempt,
          callId: piece.callId,
          toolName: piece.toolName,
          index: piece.index,
          input: piece.input,
          ...(piece.providerExecuted && { providerExecuted: true }),
        })
      case 'file':
        return send('file.generated', { messageId, attempt, file: piece.file })
      case 'source': {
        const { type: _, ...source } = piece
        return send('source.cited', { messageId, attempt, ...source })
      }
      default:
        return assertNever(piece)
    }
  }

  /** Text that listeners have received, and the part of it that has not ended. */
  let shown = ''
  let open: { readonly partId: string; text: string } | undefined
  const gate = linkGate()

  /** Emits text up to the first link. */
  function emitToLink(piece: StreamChunk): void {
    if (held.length > 0 && !isCallPiece(piece)) return void held.push(piece)
    if (piece.type === 'text-delta') {
      const parts = gate.pass(piece)
      for (const one of parts.shown) note(one)
      held.push(...parts.held)
      return
    }
    if (piece.type === 'text-end') for (const one of gate.rest(piece.partId)) note(one)
    note(piece)
  }

  function note(piece: StreamChunk): void {
    if (piece.type === 'text-start') open = { partId: piece.partId, text: '' }
    if (piece.type === 'text-end') open = undefined
    if (piece.type === 'text-delta') {
      shown += piece.delta
      if (open) open.text += piece.delta
    }
    emit(piece)
  }

  return {
    emit:
      hold === undefined
        ? emit
        : hold === 'links'
          ? emitToLink
          : (piece) => void (isHeld(piece, hold) ? held.push(piece) : emit(piece)),
    release(message) {
      if (held.length === 0) return
      const calls = new Set(message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])))
      const standing = held.filter((piece) => !isCallPiece(piece) || calls.has(piece.callId))
      const text = textIn(piecesOf(message))
      const replaced = shown + textIn(held) !== text
      const others = shown === '' && !open ? piecesOf(message) : restOf(text, shown, open)
      for (const piece of replaced ? [...others, ...standing.filter(isCallPiece)] : standing) emit(piece)
      held.length = 0
    },
    begun: () => begun,
    holds: () => held.length > 0,
  }
}

/** Returns the chunks of a text behind the part that listeners have received. */
function restOf(
  text: string,
  shown: string,
  open: { readonly partId: string; readonly text: string } | undefined,
): readonly StreamChunk[] {
  const delta = text.startsWith(shown) ? text.slice(shown.length) : `\n\n${text}`
  const partId = open?.partId ?? 'rest'
  return [
    ...(open ? [] : textStart(partId)),
    { type: 'text-delta', partId, delta },
    { type: 'text-end', partId, text: (open?.text ?? '') + delta },
  ]
}

function textStart(partId: string): readonly StreamChunk[] {
  return [{ type: 'text-start', partId }]
}

function isCallPiece(piece: StreamChunk): piece is Extract<StreamChunk, { readonly callId: string }> {
  return piece.type === 'tool-call-start' || piece.type === 'tool-call-delta' || piece.type === 'tool-call-end'
}

function isHeld(piece: StreamChunk, hold: 'text' | 'all'): boolean {
  return hold === 'all' || !isCallPiece(piece)
}

function textIn(pieces: readonly StreamChunk[]): string {
  let text = ''
  for (const piece of pieces) if (piece.type === 'text-delta') text += piece.delta
  return text
}

/** A message's text as if it had been streamed in one go. */
function piecesOf(message: Message): readonly StreamChunk[] {
  return message.content.flatMap((part, index): StreamChunk[] => {
    if (part.type !== 'text') return []
    const partId = String(index)
    return [
      { type: 'text-start', partId },
      { type: 'text-delta', partId, delta: part.text },
      { type: 'text-end', partId, text: part.text },
    ]
  })
}
