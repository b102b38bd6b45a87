import type { StateAnswer } from '@provost/server/console'
import type { ReactNode } from 'react'

import { Block, Words } from '../look/words.tsx'

/** What a fork replaces in its agent; nothing for other sessions. */
export function OverrideWords({ overrides }: { readonly overrides: StateAnswer['overrides'] }): ReactNode {
  if (!overrides) return null
  const { policy, prompt, promptText } = overrides
  return (
    <div className="travel-overrides">
      <p>
        This fork has
        {policy !== undefined && (
          <>
            {' '}
            the policy <Words limit={200}>{policy}</Words>
          </>
        )}
        {policy !== undefined && (prompt ?? promptText) !== undefined && ' and'}
        {prompt !== undefined && (
          <>
            {' '}
            the instructions <Words limit={200}>{prompt}</Words>
          </>
        )}
        {promptText !== undefined && ' its own instructions'}.
      </p>
      {promptText !== undefined && <Block label="Instructions of the fork">{promptText}</Block>}
    </div>
  )
}
