import type { ReactNode } from 'react'
import { useId, useRef } from 'react'

import { Icon } from '../look/icon.tsx'
import { bytes } from '../look/measures.ts'
import { Words } from '../look/words.tsx'
import type { Attached, AttachLimits } from './attachments.ts'
import { limitsLine } from './attachments.ts'

/** The buttons of a message that is being written, one of which adds files, and its files. */
export function AttachBar({
  attached,
  limits,
  problems,
  add,
  remove,
  children,
}: {
  readonly attached: readonly Attached[]
  readonly limits: AttachLimits
  readonly problems: readonly string[]
  readonly add: (files: readonly File[]) => void
  readonly remove: (id: string) => void
  /** The other buttons. */
  readonly children: ReactNode
}): ReactNode {
  const picker = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  return (
    <div className="attach">
      {children}
      <button ref={button} type="button" aria-describedby={id} onClick={() => picker.current?.click()}>
        Add files…
      </button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files for the message"
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])])
          // The same file can be chosen again.
          currentTarget.value = ''
        }}
      />
      <span id={id} className="dim attach-limits">
        {limitsLine(limits)}
      </span>
      {attached.length > 0 && (
        <ul className="attached" aria-label="Files of the message">
          {attached.map(({ id: key, file, mediaType }) => (
            <li key={key} className="chip">
              <Words limit={80}>{file.name}</Words>{' '}
              <span className="dim">
                {mediaType}, {bytes(file.size)}
              </span>{' '}
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  remove(key)
                  button.current?.focus()
                }}
              >
                <Icon name="cross" title={`Remove ${file.name}`} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {problems.length > 0 && (
        <ul className="attach-problems hot" role="alert">
          {problems.slice(0, mostProblems).map((problem) => (
            <li key={problem}>
              <Words limit={300}>{problem}</Words>
            </li>
          ))}
          {problems.length > mostProblems && <li>{problems.length - mostProblems} more files were not added.</li>}
        </ul>
      )}
    </div>
  )
}

const mostProblems = 5
