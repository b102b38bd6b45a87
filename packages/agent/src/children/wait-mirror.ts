import type { Entry, EntryOf, NewEntry } from '@provost/core'

import { childWait } from '../entries/child-entries.ts'
import { resolvedEntry } from '../entries/wait-entries.ts'
import { notify } from '../inbox/pending-inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ChildState, SessionState } from '../types/session-state.ts'

/** Mirrors the open waits of a child in the log of its parent run. */
export interface WaitMirror {
  committed(state: SessionState, entry: Entry): void
  /** Compares after entries of a child elsewhere were read, which may be all of its log. */
  follow(news: readonly Entry[]): void
  /** Resolves when all changes are recorded in the log. */
  settle(): Promise<void>
}

/** Creates the mirror of one child. */
export function createWaitMirror(ctx: RunContext, child: ChildState, snapshot: LogSnapshot): WaitMirror {
  const { state, logWriter, pendingInputs } = ctx
  const shown = new Set<string>()
  for (const [token, wait] of state.waits) if (wait.child?.callId === child.callId) shown.add(token)
  let writing: Promise<void> = Promise.resolve()

  function compare(answerTo: (token: string) => EntryOf<'resolved'> | undefined = () => undefined): void {
    const { waits } = snapshot.state
    const drafts: NewEntry[] = []
    for (const [token, wait] of waits) {
      if (shown.has(token) || state.resolvedWaits.has(token)) continue
      shown.add(token)
      drafts.push(childWait(state, child.callId, wait, snapshot.state))
    }
    for (const token of shown) {
      if (waits.has(token)) continue
      shown.delete(token)
      if (state.resolvedWaits.has(token)) continue
      const { value, by } = answerTo(token) ?? { value: null, by: 'child' }
      drafts.push(resolvedEntry(state, token, value, by))
    }
    if (drafts.length === 0) return
    const written = logWriter.append(drafts).then(
      // The answer may have arrived before the wait was recorded here.
      () => notify(pendingInputs),
      () => {},
    )
    writing = Promise.all([writing, written]).then(() => {})
  }

  return {
    committed(_, entry) {
      const { type } = entry
      if (type === 'wait' || type === 'run' || type === 'call' || type === 'child') compare()
      else if (type === 'resolved') compare((token) => (token === entry.token ? entry : undefined))
    },
    follow(news) {
      const answers = new Map(news.flatMap((entry) => (entry.type === 'resolved' ? [[entry.token, entry]] : [])))
      compare((token) => answers.get(token))
    },
    settle() {
      compare()
      return writing
    },
  }
}
