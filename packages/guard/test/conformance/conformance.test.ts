import { verifyAudit } from '@provost/governance'
import { describe, expect, test } from 'vitest'

import { recordedSessions } from './recorded-session.ts'
import { throughAiSdk } from './through-ai-sdk.ts'
import { throughProvost } from './through-provost.ts'
import { verdictsIn } from './verdicts.ts'

describe.each(recordedSessions)('$name', (session) => {
  test('gives these verdicts in an agent of Provost', async () => {
    expect(verdictsIn(await throughProvost(session))).toEqual(session.expected)
  })

  test.each(['generate', 'stream'] as const)('gives the same verdicts in ToolLoopAgent.%s', async (way) => {
    const entries = await throughAiSdk(session, way)
    expect(verdictsIn(entries)).toEqual(session.expected)
    expect(verifyAudit(entries).problems).toEqual([])
  })
})
