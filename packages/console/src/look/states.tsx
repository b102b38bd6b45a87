import { isRecord } from '@provost/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { Icon } from './icon.tsx'
import { Words } from './words.tsx'

/** A view without data: one sentence, and how data comes. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className="state">
      <p className="big">{title}</p>
      {children}
    </div>
  )
}

/** Rows in grey at their final height. They appear after a moment, so that fast answers do not flash. */
export function Loading({ rows = 6, height = 44 }: { readonly rows?: number; readonly height?: number }): ReactNode {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} style={{ height }} />
      ))}
    </div>
  )
}

/** What the server said is wrong. Data that was read before stays beside it. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): ReactNode {
  const { code, message, hint } = problemOf(error)
  const queries = useQueryClient()
  const again = retry ?? ((): void => void queries.refetchQueries({ type: 'active' }))
  return (
    <div className="state failure" role="alert">
      <p className="big">
        <Icon name="alert" /> <Words>{message}</Words>
      </p>
      <p>
        <Words>{hint}</Words>
      </p>
      <p className="dim">
        <code>
          <Words>{code}</Words>
        </code>
      </p>
      <button type="button" onClick={again}>
        Retry
      </button>
    </div>
  )
}

/** A problem in one line, where a whole block has no room. */
export function problemLine(error: unknown): string {
  const { message, hint } = problemOf(error)
  return `${message} ${hint}`
}

function problemOf(error: unknown): { readonly code: string; readonly message: string; readonly hint: string } {
  const { code, message, hint }: Record<string, unknown> = isRecord(error) ? error : {}
  if (typeof code === 'string' && typeof message === 'string') {
    return { code, message, hint: typeof hint === 'string' ? hint : '' }
  }
  return {
    code: 'unreachable',
    message: 'The server cannot be reached.',
    hint: 'Check that it runs. The page tries again by itself.',
  }
}
