import type { StateAnswer } from '@provost/server/console'
import type { ReactNode } from 'react'

import { MessagePart } from '../entries/value-view.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { brief } from '../look/measures.ts'
import { Words } from '../look/words.tsx'

/** Messages as a model received them, each with its share of the text. */
export function SentMessages({
  sessionId,
  log,
  at,
  messages,
}: {
  readonly sessionId: string
  readonly log: string
  readonly at: number
  readonly messages: readonly StateAnswer['view'][number][]
}): ReactNode {
  const sizes = messages.map(({ content }) => JSON.stringify(content).length)
  const all = Math.max(
    1,
    sizes.reduce((sum, size) => sum + size, 0),
  )
  if (messages.length === 0) return <p className="dim">None.</p>
  return (
    <ol className="sent">
      {messages.map(({ id, role, agent, label, content }, n) => (
        <li key={id}>
          <p className="dim listed-facts">
            <strong>{role}</strong>
            {agent !== undefined && <Words limit={60}>{agent}</Words>}
            <LabelChips label={label} />
            <span>
              {brief(sizes[n] ?? 0)} characters
              {messages.length > 1 && `, ${Math.round(((sizes[n] ?? 0) / all) * 100)} %`}
            </span>
          </p>
          {content.map((part, place) => (
            <MessagePart key={place} sessionId={sessionId} log={log} at={at} part={part} />
          ))}
        </li>
      ))}
    </ol>
  )
}
