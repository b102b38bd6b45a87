import type { FilePart } from '@provost/core'
import type { ReactNode } from 'react'
import { memo } from 'react'

import { Ago } from '../look/ago.tsx'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { bytes } from '../look/measures.ts'
import { Block, Words } from '../look/words.tsx'
import { sizeOf } from './attachments.ts'
import { CallLine } from './call-line.tsx'
import type { Call, Piece, Turn } from './conversation.ts'
import { Markdown } from './markdown.tsx'

/** One message: its author, its label, and its text, reasoning, calls and files. */
export const TurnView = memo(function TurnView({
  turn,
  calls,
}: {
  readonly turn: Turn
  readonly calls: readonly (Call | undefined)[]
}): ReactNode {
  const { role, agent, label, at, pieces, error, isOpen } = turn
  const isUser = role === 'user'
  return (
    <article
      className={`turn ${isUser ? 'user' : role.startsWith('custom:') ? 'custom' : role}`}
      aria-busy={isOpen ?? false}
    >
      <header>
        <strong>
          <Words limit={100}>{isUser ? 'user' : (agent ?? role)}</Words>
        </strong>
        <LabelChips label={label} />
        {at !== undefined && <Ago at={at} />}
      </header>
      {pieces.map((piece, index) => (
        <PieceView key={piece.id} piece={piece} call={calls[index]} isUser={isUser} />
      ))}
      {isOpen && pieces.length === 0 && <p className="dim">writes</p>}
      {error && (
        <p className="hot">
          <Icon name="alert" /> <Words limit={2_000}>{error.message}</Words>
        </p>
      )}
    </article>
  )
}, isSame)

/** A delta changes one turn; the others stay. */
function isSame(a: { turn: Turn; calls: readonly unknown[] }, b: { turn: Turn; calls: readonly unknown[] }): boolean {
  return (
    a.turn === b.turn && a.calls.length === b.calls.length && a.calls.every((call, index) => call === b.calls[index])
  )
}

function PieceView({
  piece,
  call,
  isUser,
}: {
  readonly piece: Piece
  readonly call: Call | undefined
  readonly isUser: boolean
}): ReactNode {
  switch (piece.type) {
    case 'text':
      return isUser ? <p className="said">{<Lines>{piece.text}</Lines>}</p> : <Markdown>{piece.text}</Markdown>
    case 'reasoning':
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <Block label="Reasoning">{piece.text}</Block>
        </details>
      )
    case 'call':
      return call ? <CallLine call={call} /> : null
    case 'file':
      return (
        <p>
          <FileChip file={piece.file} />
        </p>
      )
  }
}

/** A file by its name, type and size. The policy of the page shows no picture of a message. */
export function FileChip({ file }: { readonly file: FilePart }): ReactNode {
  const size = sizeOf(file)
  return (
    <span className="chip">
      <Icon name="file" title="file" /> <Words limit={200}>{file.filename ?? 'without a name'}</Words>{' '}
      <span className="dim">
        <Words limit={100}>{file.mediaType}</Words>
        {size !== undefined && `, ${bytes(size)}`}
      </span>
    </span>
  )
}

function Lines({ children }: { readonly children: string }): ReactNode {
  return children.split('\n').map((line, index) => (
    <span key={index}>
      {index > 0 && <br />}
      <Words>{line}</Words>
    </span>
  ))
}
