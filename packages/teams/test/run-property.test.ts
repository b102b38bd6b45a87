import { expectSoundRuns } from '@provost/agent/test/run/random-runs'
import type { Way } from '@provost/agent/test/run/random-runs'
import { planAndExecute, react } from '@provost/teams'
import { test } from 'vitest'

const ways: Readonly<Record<string, Way>> = {
  react: { orchestrator: react({ maxThoughtTokens: 3 }), numRuns: 25 },
  planAndExecute: {
    orchestrator: planAndExecute({ maxReplans: 1 }),
    first: { text: '{"steps": ["one", "two"]}' },
    numRuns: 25,
  },
}

test.for(Object.entries(ways))(
  '%s: whatever model, tools, hooks and callers do, runs end, histories are well formed, events are whole',
  ([, way]) => expectSoundRuns(way),
)
