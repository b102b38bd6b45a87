import type { ConsoleWait } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { AgentFor } from '../look/agent-for.tsx'
import { Ago, Until } from '../look/ago.tsx'
import type { IconName } from '../look/icon.tsx'
import { Icon } from '../look/icon.tsx'
import { Words } from '../look/words.tsx'
import { undo, useDecisions } from './decisions.ts'
import { keyOf, outcomeQuery } from './inbox-rows.ts'

const icons: Readonly<Record<ConsoleWait['kind'], IconName>> = {
  approval: 'pause',
  input: 'message',
  uncertain: 'alert',
  remote: 'handoff',
  quarantined: 'lock',
  change: 'retry',
}

const names: Readonly<Record<ConsoleWait['kind'], string>> = {
  approval: 'an answer',
  input: 'a question',
  uncertain: 'a call of unknown outcome',
  remote: 'a call outside',
  quarantined: 'a quarantined session',
  change: 'a changed agent',
}

/** A case in the list. One that was decided stays, with how. */
export function InboxRow({
  wait,
  isOpen,
  isShown,
  select,
}: {
  readonly wait: ConsoleWait
  readonly isOpen: boolean
  readonly isShown: boolean
  readonly select: () => void
}): ReactNode {
  const key = keyOf(wait)
  const { held, outcomes } = useDecisions()
  const own = outcomes[key]
  const read = useQuery({ ...outcomeQuery(wait), enabled: !isOpen && own === undefined && wait.kind !== 'quarantined' })
  const outcome = own ?? read.data
  const { kind, title, agent, requester, rule, at, expiresAt } = wait
  const name = wait.wait?.toolName ?? wait.tool?.name ?? ''
  return (
    <li className={isOpen ? undefined : 'ended'}>
      <button type="button" className="case" aria-current={isShown} onClick={select}>
        <Icon name={icons[kind]} />
        <span className="what">
          <strong className="clip">{name === '' ? names[kind] : <Words limit={100}>{name}</Words>}</strong>
          <span className="dim clip">
            <AgentFor agent={agent} principal={requester} />
          </span>
          <span className="dim clip">
            {rule === undefined ? title === '' ? 'untitled' : <Words limit={120}>{title}</Words> : <code>{rule}</code>}
          </span>
        </span>
        <span className="when">
          <Ago at={at} />
          {isOpen && expiresAt !== undefined && <Until at={expiresAt} />}
        </span>
      </button>
      {key in held && (
        <p className="held">
          {held[key]}{' '}
          <button type="button" className="link" onClick={() => undo(key)}>
            Undo
          </button>
        </p>
      )}
      {!isOpen && outcome && (
        <p className="held dim">
          {outcome.text}
          {outcome.by !== undefined && (
            <>
              {' by '}
              <Words limit={100}>{outcome.by}</Words>
            </>
          )}
        </p>
      )}
    </li>
  )
}
