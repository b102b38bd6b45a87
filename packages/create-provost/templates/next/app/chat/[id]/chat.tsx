'use client'

import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { chatTransport } from 'provost/client/ai'
import type { ChatMessage } from 'provost/client/ai'
import { useState } from 'react'

import type { refund } from '../../../agent.ts'

type DeskMessage = ChatMessage<{ refund: typeof refund }>
type Part = DeskMessage['parts'][number]

/** The chat page: sends, streams, stops, edits, regenerates, approves, and goes on with an answer after a reload. */
export function Chat({ id, initial }: { id: string; initial: DeskMessage[] }) {
  const [text, setText] = useState('')
  const [editing, setEditing] = useState<string>()
  const [transport] = useState(() => chatTransport<DeskMessage>())
  const { messages, sendMessage, regenerate, stop, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: initial,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const busy = status === 'submitted' || status === 'streaming'
  const asks = messages.at(-1)?.parts.some((part) => part.type === 'tool-refund' && part.state === 'approval-requested')

  function send() {
    if (busy || asks || text.trim() === '') return
    void sendMessage({ text, ...(editing && { messageId: editing }) })
    setText('')
    setEditing(undefined)
  }

  function edit({ id: messageId, parts }: DeskMessage) {
    setText(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    setEditing(messageId)
  }

  return (
    <>
      <header>
        <h1>Desk</h1>
        <a href="/">New conversation</a>
      </header>
      <main aria-live="polite">
        {messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, n) => (
              <PartView
                key={n}
                part={part}
                answer={(approvalId, approved) => void addToolApprovalResponse({ id: approvalId, approved })}
              />
            ))}
            {message.role === 'user' && !busy && (
              <button className="link" onClick={() => edit(message)}>
                Edit
              </button>
            )}
          </article>
        ))}
        {messages.at(-1)?.role === 'assistant' && !busy && !asks && (
          <button className="link" onClick={() => void regenerate()}>
            Regenerate
          </button>
        )}
      </main>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <input
          aria-label="Message"
          placeholder="Refund order 17, 80 euros"
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoFocus
        />
        {busy ? (
          <button key="stop" type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button key="send" disabled={asks}>
            {editing ? 'Save' : 'Send'}
          </button>
        )}
      </form>
      <p role="alert">{error?.message}</p>
    </>
  )
}

function PartView({ part, answer }: { part: Part; answer: (id: string, approved: boolean) => void }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type !== 'tool-refund') return null
  // The types are those of the tool: `part.input` has an order and an amount.
  if (part.state === 'approval-requested') {
    const { id } = part.approval
    return (
      <section className="approval">
        <p>
          May I refund {part.input.amount} euros on order {part.input.orderId}?
        </p>
        <button onClick={() => answer(id, true)}>Approve</button>{' '}
        <button onClick={() => answer(id, false)}>Deny</button>
      </section>
    )
  }
  if (part.state === 'output-denied') return <p className="tool">refund: denied</p>
  return <p className="tool">refund: {part.state === 'output-available' ? part.output : (part.errorText ?? '…')}</p>
}
