import type { Orchestrator } from '@provost/agent'
import { expectAnsweredElsewhere, expectOneATurn } from '@provost/agent/test/inbox/follow-up-world'
import { planAndExecute, react } from '@provost/teams'
import { describe, test } from 'vitest'

describe('queued messages', () => {
  test.each<[string, Orchestrator, number]>([
    ['react', react(), 1],
    ['planAndExecute', planAndExecute(), 2],
  ])('are answered one a turn by %s', (_, orchestrator, callsOfTurn) => expectOneATurn(orchestrator, callsOfTurn))

  test.each<[string, Orchestrator]>([
    ['react', react()],
    ['planAndExecute', planAndExecute()],
  ])('after any append are answered elsewhere (%s): none lost, none twice, one a turn', (_, orchestrator) =>
    expectAnsweredElsewhere(orchestrator),
  )
})
