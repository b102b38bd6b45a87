import type { Scrubber, ScrubStream } from '@provost/core'
import type { StreamChunk } from '@provost/provider'

/** Removes secrets from streamed chunks, also where one spans two chunks. The log writer scrubs complete texts. */
export function streamRedaction(scrubber: Scrubber): (piece: StreamChunk) => readonly StreamChunk[] {
  const streams = new Map<string, ScrubStream>()

  function push(key: string, delta: string): string {
    let stream = streams.get(key)
    if (!stream) streams.set(key, (stream = scrubber.stream()))
    return stream.push(delta)
  }

  function end(key: string): string {
    const rest = streams.get(key)?.end() ?? ''
    streams.delete(key)
    return rest
  }

  return (piece) => {
    switch (piece.type) {
      case 'text-delta':
      case 'reasoning-delta': {
        const delta = push(piece.partId, piece.delta)
        return delta === '' ? [] : [{ ...piece, delta }]
      }
      case 'text-end': {
        const delta = end(piece.partId)
        return delta === '' ? [piece] : [{ type: 'text-delta', partId: piece.partId, delta }, piece]
      }
      case 'reasoning-end': {
        const delta = end(piece.partId)
        return delta === '' ? [piece] : [{ type: 'reasoning-delta', partId: piece.partId, delta }, piece]
      }
      case 'tool-call-delta': {
        const delta = push(piece.callId, piece.delta)
        return delta === '' ? [] : [{ ...piece, toolName: scrubber.scrub(piece.toolName), delta }]
      }
      case 'tool-call-end': {
        const { index, callId } = piece
        const toolName = scrubber.scrub(piece.toolName)
        const delta = end(callId)
        const whole = { ...piece, toolName }
        return delta === '' ? [whole] : [{ type: 'tool-call-delta', index, callId, toolName, delta }, whole]
      }
      case 'text-start':
      case 'reasoning-start':
        return [piece]
      case 'tool-call-start':
        return [{ ...piece, toolName: scrubber.scrub(piece.toolName) }]
      case 'file':
      case 'source':
        return [piece]
      default:
        return [piece]
    }
  }
}
