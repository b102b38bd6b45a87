import type { EventOf, ToolOutput } from '@provost/core'

/** An event of a text or a reasoning that an answer has. */
export type AnswerPiece = EventOf<
  'text.start' | 'text.delta' | 'text.end' | 'reasoning.start' | 'reasoning.delta' | 'reasoning.end'
>

export function pieceKind({ type }: AnswerPiece): 'text' | 'reasoning' {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

/** Returns the output of a tool as a text, for protocols whose results are texts. */
export function outputText(output: ToolOutput): string {
  if (output.type === 'execution-denied') return output.reason ?? 'The call was denied.'
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}
