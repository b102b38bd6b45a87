import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { Ago } from '../look/ago.tsx'
import { sessionsQuery } from '../wire/queries.ts'

/** Whether the page follows the server, in a dot and in words. */
export function LiveDot(): ReactNode {
  const { error, dataUpdatedAt } = useQuery(sessionsQuery)
  return (
    <span className={`live ${error ? 'stale' : 'on'}`} role="status">
      <span className="dot" aria-hidden />
      {error ? (
        <span>
          last word <Ago at={dataUpdatedAt} />
        </span>
      ) : (
        'live'
      )}
    </span>
  )
}
