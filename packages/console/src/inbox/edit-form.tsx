import { displayText } from '@provost/core'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { Block } from '../look/words.tsx'

/** Other arguments for a call. They are judged again, and shown again if a policy asks about them. */
export function EditForm({
  input,
  schema,
  send,
  close,
}: {
  readonly input: unknown
  readonly schema: unknown
  readonly send: (args: unknown) => void
  readonly close: () => void
}): ReactNode {
  const [text, setText] = useState(() => displayText(input, { lines: true, indent: 2, limit: Infinity }))
  const [problem, setProblem] = useState<string | undefined>()
  return (
    <form
      className="question"
      aria-label="Other arguments"
      onSubmit={(event) => {
        event.preventDefault()
        let args: unknown
        try {
          args = JSON.parse(text)
        } catch (error) {
          return setProblem(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`)
        }
        send(args)
      }}
    >
      <label>
        Arguments as JSON
        <textarea
          autoFocus
          rows={Math.min(16, text.split('\n').length + 1)}
          spellCheck={false}
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value)
            setProblem(undefined)
          }}
          onKeyDown={({ key }) => key === 'Escape' && close()}
        />
      </label>
      <p className="dim">The policies judge the new arguments. If one of them asks, the call waits here again.</p>
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
      {schema !== undefined && (
        <details>
          <summary>Schema of the tool</summary>
          <Block label="Schema of the tool">{schema}</Block>
        </details>
      )}
      <div className="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" className="primary">
          Approve with these arguments
        </button>
      </div>
    </form>
  )
}
