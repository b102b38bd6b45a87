import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLayoutEffect, useRef, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { accessQuery } from '../wire/queries.ts'
import { AnswerForm } from './answer-form.tsx'
import { ApprovalForm } from './approval-form.tsx'
import { Composer } from './composer.tsx'
import type { Call, Turn } from './conversation.ts'
import { Observer } from './observer.tsx'
import { FileChip, TurnView } from './turn-view.tsx'
import { useConversation } from './use-conversation.ts'

/** What was said in a session, live, and the means to take part. */
export function Talk({ sessionId: id, session }: SessionViewProps): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const live = useConversation(id, session?.status, access?.role === 'view' ? 'entries' : 'streams')
  const owner = session?.principal
  const isOwn = owner === undefined || owner === access?.principal
  const { conversation, pending, isRunning, isLoading, error } = live
  const field = useRef<HTMLTextAreaElement>(null)
  useKeys('Conversation', [{ key: 'm', also: ['/'], does: 'write a message', run: () => field.current?.focus() }])
  const { box, unseen, follow } = useEnd(conversation)
  return (
    <>
      <div className="talk" ref={box} tabIndex={0} role="log" aria-label="Conversation" aria-busy={isRunning}>
        {isLoading && <Loading height={72} />}
        {error && <Failure error={error} />}
        {!isLoading && !error && conversation.turns.length === 0 && (
          <Empty title="Nothing was said in this session yet." />
        )}
        {conversation.turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} calls={callsOf(turn, conversation.calls)} />
        ))}
        {conversation.queued.map((one) => (
          <p key={one.id} className="queued dim">
            <Icon name="pause" /> waits for the run: <Words limit={2_000}>{one.text}</Words>{' '}
            {one.files.map((file, n) => (
              <FileChip key={n} file={file} />
            ))}
          </p>
        ))}
        {pending.approvals.map((wait) => (
          <ApprovalForm
            key={wait.id}
            sessionId={id}
            wait={wait}
            onDecide={(decision, reason) => live.decide(wait.id, decision, reason)}
          />
        ))}
        {pending.inputs.map((question) => (
          <AnswerForm key={question.id} question={question} onAnswer={(value) => live.answer(question.id, value)} />
        ))}
      </div>
      {unseen && (
        <button type="button" className="newer" onClick={follow}>
          New messages <Icon name="down" />
        </button>
      )}
      {isOwn ? (
        <Composer live={live} field={field} />
      ) : (
        <Observer live={live} owner={owner} mayAbort={access?.role === 'operate'} />
      )}
    </>
  )
}

function callsOf(turn: Turn, calls: Readonly<Record<string, Call>>): readonly (Call | undefined)[] {
  return turn.pieces.map((piece) => (piece.type === 'call' ? calls[piece.id] : undefined))
}

/** Keeps the end in view while the reader is there. A reader further up is told that there is more. */
function useEnd(content: unknown): {
  box: React.RefObject<HTMLDivElement | null>
  unseen: boolean
  follow: () => void
} {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [unseen, setUnseen] = useState(false)
  const follow = (): void => {
    box.current?.scrollTo({ top: box.current.scrollHeight })
    setUnseen(false)
  }
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const scrolled = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40
      if (isAtEnd.current) setUnseen(false)
    }
    element.addEventListener('scroll', scrolled)
    return () => element.removeEventListener('scroll', scrolled)
  }, [])
  useLayoutEffect(() => {
    if (isAtEnd.current) follow()
    else setUnseen(true)
  }, [content])
  return { box, unseen, follow }
}
