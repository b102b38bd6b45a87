import type { ConsoleStatus } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode, RefObject } from 'react'
import { useEffect, useState } from 'react'

import { Icon } from '../look/icon.tsx'
import { Words } from '../look/words.tsx'
import type { SessionFilter } from '../wire/console-api.ts'
import { accessQuery } from '../wire/queries.ts'
import { ImportButton } from './import-button.tsx'

const statuses: readonly ConsoleStatus[] = ['idle', 'running', 'suspended', 'failed', 'closed', 'quarantined']

/** Reads the filter that the address of the list says. */
export function readListSearch(search: Readonly<Record<string, unknown>>): SessionFilter {
  const text = (name: string): string | undefined => {
    const value = search[name]
    return (typeof value === 'string' || typeof value === 'number') && value !== '' ? String(value) : undefined
  }
  return {
    q: text('q')?.slice(0, 200),
    status: statuses.find((one) => one === search['status']),
    agent: text('agent'),
    principal: text('principal'),
    rule: text('rule'),
  }
}

/** The search of the list, its selects, and the parts of the filter that other views set. */
export function FilterBar({
  filter,
  field,
  change,
}: {
  readonly filter: SessionFilter
  readonly field: RefObject<HTMLInputElement | null>
  readonly change: (part: SessionFilter) => void
}): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const agents = access?.agents.map(({ name }) => name) ?? []
  const set = [
    ['principal', filter.principal],
    ['rule', filter.rule],
  ] as const
  return (
    <div className="bar">
      <h1>Sessions</h1>
      <Search value={filter.q ?? ''} field={field} change={(q) => change({ q: q || undefined })} />
      <select
        aria-label="Status"
        value={filter.status ?? ''}
        onChange={({ currentTarget }) => change({ status: statuses.find((one) => one === currentTarget.value) })}
      >
        <option value="">any status</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {status === 'suspended' ? 'waits' : status}
          </option>
        ))}
      </select>
      {agents.length > 1 && (
        <select
          aria-label="Agent"
          value={filter.agent ?? ''}
          onChange={({ currentTarget }) => change({ agent: currentTarget.value || undefined })}
        >
          <option value="">any agent</option>
          {agents.map((agent) => (
            <option key={agent}>{agent}</option>
          ))}
        </select>
      )}
      {set.map(
        ([name, value]) =>
          value !== undefined && (
            <button key={name} type="button" onClick={() => change({ [name]: undefined })}>
              {name} <Words limit={60}>{value}</Words> <Icon name="cross" title="Remove this filter" />
            </button>
          ),
      )}
      <ImportButton />
    </div>
  )
}

/** Milliseconds without a key before a search. */
const typingMs = 200

function Search({
  value,
  field,
  change,
}: {
  readonly value: string
  readonly field: RefObject<HTMLInputElement | null>
  readonly change: (text: string) => void
}): ReactNode {
  const [text, setText] = useState(value)
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => change(text), typingMs)
    return () => clearTimeout(timer)
  }, [text, value])
  return (
    <input
      ref={field}
      type="search"
      placeholder="Search titles and ids"
      aria-label="Search titles and ids"
      maxLength={200}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
    />
  )
}
