import type { ReactNode } from 'react'

import { Ago } from '../look/ago.tsx'
import { useLiveness } from '../wire/feed.ts'

/** Whether the page follows the server, in a dot and in words. */
export function LiveDot(): ReactNode {
  const liveness = useLiveness()
  return (
    <span className={`live ${liveness.kind}`}>
      <span className="dot" aria-hidden />
      <span role="status">{liveness.kind === 'stale' ? 'offline' : liveness.kind}</span>
      {liveness.kind === 'stale' && (
        // Outside of the status, which would be read out each second.
        <span>
          last word <Ago at={liveness.since} />
        </span>
      )}
    </span>
  )
}
