import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMemo, useRef } from 'react'

import type { Turn } from '../conversation/conversation.ts'
import { hasCall } from '../conversation/conversation.ts'
import { useConversation } from '../conversation/use-conversation.ts'
import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { accessQuery } from '../wire/queries.ts'
import { AnswerForm } from './answer-form.tsx'
import { ApprovalForm } from './approval-form.tsx'
import { Composer } from './composer.tsx'
import { Observer } from './observer.tsx'
import { TraceSelection } from './trace-selection.tsx'
import { TurnList } from './turn-list.tsx'
import { FileChip, authorOf } from './turn-view.tsx'
import { useEnd } from './use-end.ts'

/** What was said in a session, live, and the means to take part. */
export function Talk({ sessionId: id, session }: SessionViewProps): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const live = useConversation(id, session?.status, access?.role === 'view' ? 'entries' : 'streams')
  const owner = session?.principal
  const isOwn = owner === undefined || owner === access?.principal
  const { conversation, pending, isRunning, isLoading, error } = live
  const { turns, queued } = conversation
  const { message, call } = useSearch({ from: '/sessions/$id/$view' })
  const isNamed = message !== undefined || call !== undefined
  const target = useMemo(() => (isNamed ? namedTurn(turns, message, call) : undefined), [turns, message, call])
  const unfolded = useRef(new Set(call === undefined ? [] : [call])).current
  const box = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const last = turns.at(-1)
  const waits = [...queued, ...pending.approvals, ...pending.inputs].map((one) => one.id)
  const shown = isLoading ? undefined : [last?.id, last?.pieces.length, ...waits].join(' ')
  const end = useEnd(box, shown, isNamed)
  useKeys('Conversation', [
    { key: 'm', also: ['/'], does: 'write a message', run: () => field.current?.focus() },
    { key: 'End', does: 'go to the end', run: end.follow },
  ])
  return (
    <>
      <div className="talk" ref={box} tabIndex={0} role="region" aria-label="Conversation">
        <div>
          {isLoading && <Loading height={72} />}
          {error && <Failure error={error} />}
          {!isLoading && !error && turns.length === 0 && <Empty title="Nothing was said in this session yet." />}
          {!isLoading && isNamed && turns.length > 0 && target === undefined && (
            <p role="status" className="dim">
              The message of this link is not in the conversation.
            </p>
          )}
          <TurnList {...{ turns, sessionId: id, isRunning, box, unfolded, target }} isAtEnd={end.isKept} />
          {queued.map((one) => (
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
      </div>
      <News turns={turns} isLoading={isLoading} />
      <div className="newer">
        <TraceSelection turns={turns} sessionId={id} />
        {end.isAway && (
          <button type="button" onClick={end.follow}>
            {end.isUnseen ? 'New messages' : 'To the end'} <Icon name="down" />
          </button>
        )}
      </div>
      {isOwn ? (
        <Composer live={live} field={field} />
      ) : (
        <Observer live={live} owner={owner} mayAbort={access?.role === 'operate'} />
      )}
    </>
  )
}

/** Returns the index of the message that an address names by its id, or by a call in it. */
function namedTurn(turns: readonly Turn[], message: string | undefined, call: string | undefined): number | undefined {
  const at = turns.findLastIndex((turn) => turn.id === message || (call !== undefined && hasCall(turn, call)))
  return at < 0 ? undefined : at
}

const longestNews = 300

/** Says each message to a screen reader once it is complete. The messages that were there at first are not news. */
function News({ turns, isLoading }: { readonly turns: readonly Turn[]; readonly isLoading: boolean }): ReactNode {
  const first = useRef<string>(undefined)
  const last = turns.findLast(({ isOpen }) => !isOpen)
  if (!isLoading) first.current ??= last?.id ?? ''
  const text = last?.pieces.find(({ type }) => type === 'text')
  return (
    <p className="sr" role="status">
      {last && last.id !== first.current && text?.type === 'text' && (
        <>
          {authorOf(last)}: <Words limit={longestNews}>{text.text}</Words>
        </>
      )}
    </p>
  )
}
