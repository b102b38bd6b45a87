import type { ReactNode } from 'react'

import { Ago } from '../look/ago.tsx'
import { useLiveness } from '../wire/feed.ts'

/** Whether the page follows the server, in a dot and in words. */
export function LiveDot(): ReactNode {
  const liveness = useLiveness()
  return (
    <span className={`live ${liveness.kind}`} role="status">
      <span className="dot" aria-hidden />
      {liveness.kind === 'stale' ? (
        <span>
          last word <Ago at={liveness.since} />
        </span>
      ) : (
        liveness.kind
      )}
    </span>
  )
}
