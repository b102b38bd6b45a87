import type { ConsoleSession } from '@provost/server/console'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'

import { AgentFor } from '../look/agent-for.tsx'
import { Ago } from '../look/ago.tsx'
import { Icon } from '../look/icon.tsx'
import { brief, count, counted, dollars } from '../look/measures.ts'
import { Words } from '../look/words.tsx'
import { StatusMark } from './status-mark.tsx'

/** A session in the list. */
export function SessionRow({
  session,
  takesFocus,
  focused,
}: {
  readonly session: ConsoleSession
  /** Whether the keys have moved to this row. */
  readonly takesFocus: () => boolean
  readonly focused: () => void
}): ReactNode {
  const { id, title, agent, principal, status, updatedAt, steps, usage, cost, unpriced, waits, verdicts } = session
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (takesFocus()) link.current?.focus()
  })
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  return (
    <Link ref={link} to="/sessions/$id" params={{ id }} className="row" onFocus={focused}>
      <StatusMark status={status} />
      <span className="title">
        <strong className="clip">{title === '' ? 'untitled' : <Words limit={200}>{title}</Words>}</strong>
        <span className="dim clip">
          <AgentFor agent={agent} principal={principal} />
        </span>
      </span>
      <span className="marks">
        {waits.length > 0 && (
          <span className="chip secret">
            <Icon name="pause" /> {count(waits.length)} waiting
          </span>
        )}
        {verdicts.denied > 0 && (
          <span className="chip untrusted">
            <Icon name="flag" /> {count(verdicts.denied)} denied
          </span>
        )}
      </span>
      <span className="figures dim">
        {counted(steps, 'step')} · {brief(tokens)} tokens · {dollars(cost, unpriced)}
      </span>
      <Ago at={updatedAt} />
    </Link>
  )
}
