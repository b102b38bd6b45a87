import { agentic } from '@provost/agent'
import { test } from 'vitest'

import { expectSoundRuns } from './random-runs.ts'
import type { Way } from './random-runs.ts'

const ways: Readonly<Record<string, Way>> = {
  'the loop alone': { numRuns: 75 },
  'agentic, called by another': { orchestrator: (run) => agentic()(run), numRuns: 25 },
  'one that drafts, asks outside and has it said again': {
    async orchestrator(run) {
      await agentic()(run)
      const note = await run.memo('note', async () => 'Shorter.')
      run.emit({ note })
      await run.model({ tail: [{ content: note }], tools: ['quick', 'risky'] })
      await run.execute({ only: run.calls.slice(0, 1).map(({ callId }) => callId) })
      await run.say('And again.')
      await agentic()(run)
    },
    numRuns: 25,
  },
  'one that forgets its calls, or throws': {
    async orchestrator(run) {
      const { content } = await run.model()
      if (content.length % 2 === 1) throw new Error('odd')
    },
    numRuns: 15,
  },
}

test.for(Object.entries(ways))(
  '%s: whatever model, tools, hooks and callers do, runs end, histories are well formed, events are whole',
  ([, way]) => expectSoundRuns(way),
)
