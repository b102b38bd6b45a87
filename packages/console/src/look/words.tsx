import { displayText } from '@provost/core'
import type { ReactNode } from 'react'

/** Text of a model, a tool or a user. Invisible and direction-changing characters are visible escapes. */
export function Words({ children, limit }: { readonly children: unknown; readonly limit?: number }): ReactNode {
  // Isolated, so that text in another direction does not move what is beside it.
  return <bdi>{displayText(children, limit === undefined ? {} : { limit })}</bdi>
}

/** Text with its own line breaks. */
export function Block({ children, label }: { readonly children: unknown; readonly label: string }): ReactNode {
  const text = typeof children === 'string' ? children : (JSON.stringify(children, undefined, 2) ?? '')
  return (
    <pre className="block" tabIndex={0} role="region" aria-label={label}>
      {displayText(text, { lines: true, limit: longest })}
    </pre>
  )
}

const longest = 200_000
