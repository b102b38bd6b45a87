import type { ReactNode, RefObject } from 'react'
import { useState } from 'react'

import { problemLine } from '../look/states.tsx'
import type { LiveConversation } from './use-conversation.ts'

/** Sends input to the session: at once, when the run would end, or to start a run. */
export function Composer({
  live,
  field,
}: {
  readonly live: LiveConversation
  readonly field: RefObject<HTMLTextAreaElement | null>
}): ReactNode {
  const { isRunning, isWaiting, send, abort } = live
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | undefined>()
  const attempt = (does: () => Promise<void>, undo?: () => void): void => {
    setProblem(undefined)
    does().catch((error: unknown) => {
      setProblem(problemLine(error))
      undo?.()
    })
  }
  const submit = (mode: 'steer' | 'queue'): void => {
    const words = text.trim()
    if (words === '') return
    setText('')
    attempt(
      () => send(words, mode),
      () => setText((now) => (now === '' ? words : now)),
    )
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        submit('steer')
      }}
    >
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
      <label className="sr" htmlFor="say">
        Message
      </label>
      <textarea
        id="say"
        ref={field}
        rows={2}
        placeholder={
          isRunning
            ? 'Enter reaches the run before its next model call; Alt+Enter when it would end'
            : isWaiting
              ? 'The run waits for a decision. A message is read after it.'
              : 'Message'
        }
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          submit(event.altKey ? 'queue' : 'steer')
        }}
      />
      <div className="buttons">
        <button type="submit" className="primary" disabled={text.trim() === ''}>
          {isRunning ? 'Steer' : isWaiting ? 'Queue' : 'Send'}
        </button>
        {isRunning && (
          <button type="button" disabled={text.trim() === ''} onClick={() => submit('queue')}>
            Queue
          </button>
        )}
        {(isRunning || isWaiting) && (
          <button type="button" className="deny" onClick={() => attempt(abort)}>
            Abort the run
          </button>
        )}
      </div>
    </form>
  )
}
