import type { ReactNode } from 'react'
import { useState } from 'react'

import type { LiveConversation } from '../conversation/use-conversation.ts'
import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'

/** Stands in place of the composer in the session of another principal: its words count as the user's, so only that principal sends any. */
export function Observer({
  live: { isRunning, isWaiting, abort },
  owner,
  mayAbort,
}: {
  readonly live: LiveConversation
  readonly owner: string
  readonly mayAbort: boolean
}): ReactNode {
  const [problem, setProblem] = useState<string | undefined>()
  return (
    <div className="composer">
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
      <p className="dim">
        Only <Words limit={100}>{owner}</Words> sends messages to this session: agents take them as the words of that
        user.
      </p>
      {mayAbort && (isRunning || isWaiting) && (
        <div className="buttons">
          <button
            type="button"
            className="deny"
            onClick={() => void abort().catch((error: unknown) => setProblem(problemLine(error)))}
          >
            Abort the run
          </button>
        </div>
      )}
    </div>
  )
}
