import { useQuery } from '@tanstack/react-query'
import type { ReactNode, RefObject } from 'react'
import { useState } from 'react'

import type { LiveConversation } from '../conversation/use-conversation.ts'
import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { accessQuery } from '../wire/queries.ts'
import { AttachBar } from './attach-bar.tsx'
import type { Attached } from './attachments.ts'
import { attach, attachLimits, partsOf } from './attachments.ts'

/** Sends input to the session: at once, when the run would end, or to start a run. Files come from the picker, a drop or the clipboard. */
export function Composer({
  live,
  field,
}: {
  readonly live: LiveConversation
  readonly field: RefObject<HTMLTextAreaElement | null>
}): ReactNode {
  const { isRunning, isWaiting, send, abort } = live
  const { data: access } = useQuery(accessQuery)
  const limits = attachLimits(access?.sendBytes ?? 0)
  const [text, setText] = useState('')
  const [attached, setAttached] = useState<readonly Attached[]>([])
  const [refused, setRefused] = useState<readonly string[]>([])
  const [isOver, setOver] = useState(false)
  const [problem, setProblem] = useState<string | undefined>()
  const attempt = (does: () => Promise<void>, undo?: () => void): void => {
    setProblem(undefined)
    does().catch((error: unknown) => {
      setProblem(problemLine(error))
      undo?.()
    })
  }
  const add = (files: readonly File[]): void => {
    const taken = attach(attached, files, limits)
    setAttached(taken.attached)
    setRefused(taken.problems)
  }
  const isEmpty = text.trim() === '' && attached.length === 0
  const submit = (mode: 'steer' | 'queue'): void => {
    const words = text.trim()
    if (isEmpty) return
    setText('')
    setAttached([])
    setRefused([])
    attempt(
      async () => send(words, await partsOf(attached), mode),
      () => {
        setText((now) => (now === '' ? words : now))
        setAttached((now) => (now.length === 0 ? attached : now))
      },
    )
  }
  return (
    <form
      className={isOver ? 'composer drop' : 'composer'}
      onSubmit={(event) => {
        event.preventDefault()
        submit('steer')
      }}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        const to = event.relatedTarget
        if (!(to instanceof Node) || !event.currentTarget.contains(to)) setOver(false)
      }}
      onDrop={(event) => {
        setOver(false)
        if (!event.dataTransfer.types.includes('Files')) return
        // The browser would leave the page, and show the file.
        event.preventDefault()
        add([...event.dataTransfer.files])
      }}
    >
      {problem !== undefined && (
        <p className="hot" role="alert">
          <Words limit={600}>{problem}</Words>
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
        onPaste={(event) => {
          const { files } = event.clipboardData
          // Text from a table comes with a picture of it: the text is meant.
          if (files.length === 0 || event.clipboardData.types.includes('text/plain')) return
          event.preventDefault()
          add([...files])
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          submit(event.altKey ? 'queue' : 'steer')
        }}
      />
      <AttachBar
        {...{ attached, limits, add, problems: refused }}
        remove={(id) => {
          setAttached((now) => now.filter((one) => one.id !== id))
          setRefused([])
        }}
      >
        <button type="submit" className="primary" disabled={isEmpty}>
          {isRunning ? 'Steer' : isWaiting ? 'Queue' : 'Send'}
        </button>
        {isRunning && (
          <button type="button" disabled={isEmpty} onClick={() => submit('queue')}>
            Queue
          </button>
        )}
        {(isRunning || isWaiting) && (
          <button type="button" className="deny" onClick={() => attempt(abort)}>
            Abort the run
          </button>
        )}
      </AttachBar>
    </form>
  )
}
