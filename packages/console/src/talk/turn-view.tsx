import type { FilePart } from '@provost/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { memo } from 'react'

import type { Piece, Turn } from '../conversation/conversation.ts'
import { Ago } from '../look/ago.tsx'
import { Fold } from '../look/fold.tsx'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { bytes } from '../look/measures.ts'
import { Block, Words } from '../look/words.tsx'
import { sizeOf } from './attachments.ts'
import { CallLine } from './call-line.tsx'
import { Markdown } from './markdown.tsx'

/** What a message of a conversation receives. */
interface TurnProps {
  readonly turn: Turn
  readonly sessionId: string
  /** Ids of the pieces that are unfolded. Messages far from the view are not in the page: this outlives them. */
  readonly unfolded: Set<string>
}

/** One message: its author, its label, and its text, reasoning, calls and files. A delta changes one of them; the others stay. */
export const TurnView = memo(function TurnView({ turn, sessionId, unfolded }: TurnProps): ReactNode {
  const { id, label, at, pieces, error, isOpen } = turn
  return (
    <>
      <header>
        <strong>
          <Words limit={100}>{authorOf(turn)}</Words>
        </strong>
        <LabelChips label={label} />
        {at !== undefined && <Ago at={at} />}
        {!isOpen && (
          <Link
            to="/sessions/$id/$view"
            params={{ id: sessionId, view: 'timeline' }}
            search={{ message: id }}
            className="to-step"
          >
            Timeline
          </Link>
        )}
      </header>
      {pieces.map((piece) => (
        <PieceView key={piece.id} {...{ piece, turn, sessionId, unfolded }} />
      ))}
      {isOpen && pieces.length === 0 && <p className="dim">writes</p>}
      {error && (
        <p className="hot">
          <Icon name="alert" /> <Words limit={2_000}>{error.message}</Words>
        </p>
      )}
    </>
  )
})

/** Returns who wrote a message. */
export function authorOf({ role, agent }: Turn): string {
  return role === 'user' ? 'user' : (agent ?? role)
}

function PieceView({
  piece,
  turn,
  sessionId,
  unfolded,
}: TurnProps & {
  readonly piece: Piece
}): ReactNode {
  switch (piece.type) {
    case 'text':
      return (
        <div data-words={piece.id}>
          {turn.role === 'user' ? (
            <p className="said">
              <Lines>{piece.text}</Lines>
            </p>
          ) : (
            <Markdown>{piece.text}</Markdown>
          )}
        </div>
      )
    case 'reasoning':
      return (
        <Fold className="reasoning" kept={{ id: piece.id, unfolded }} summary="Reasoning">
          <Block label="Reasoning">{piece.text}</Block>
        </Fold>
      )
    case 'call':
      return <CallLine call={piece.call} sessionId={sessionId} unfolded={unfolded} />
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
