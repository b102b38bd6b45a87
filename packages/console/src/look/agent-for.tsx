import type { ReactNode } from 'react'

import { Words } from './words.tsx'

/** An agent, and the principal of its run. */
export function AgentFor({
  agent,
  principal,
}: {
  readonly agent: string
  readonly principal: string | undefined
}): ReactNode {
  return (
    <>
      <Words limit={100}>{agent}</Words>
      {principal !== undefined && (
        <>
          {' for '}
          <Words limit={100}>{principal}</Words>
        </>
      )}
    </>
  )
}
