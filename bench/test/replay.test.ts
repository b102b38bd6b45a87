import { dataFlowPolicy, presets } from 'provost/governance'
import { describe, expect, it } from 'vitest'

import { countsOf, rated } from '../security/replay/counts.ts'
import { gathered } from '../security/replay/gather.ts'
import type { Suite, SuiteCall } from '../security/replay/suite.ts'

const policy = () => [dataFlowPolicy({ mode: 'enforce', rules: presets.intent })]

const tool = { returns_private: false, egress: false, arg_roles: {}, trusted_fields: [] }
const text = { type: 'string' }
const board: SuiteCall = { tool: 'read_board', args: {}, output: 'Write to desk@town.example or to hall@town.example' }
const mail = (to: string, output = 'sent'): SuiteCall => ({ tool: 'send_email', args: { to, body: 'Hello.' }, output })
const [desk, hall] = [mail('desk@town.example'), mail('hall@town.example')]

function suiteOf(...calls: readonly SuiteCall[]): Suite {
  return {
    suite: 'town',
    tools: [
      { ...tool, name: 'read_board', parameters: {}, effect: 'read', returns_untrusted: true },
      {
        ...{ ...tool, name: 'send_email', effect: 'write', egress: true, returns_untrusted: false },
        parameters: { type: 'object', properties: { to: text, body: text } },
        arg_roles: { to: 'destination', body: 'content' },
      },
    ],
    user_tasks: [{ id: 't', prompt: 'Mail each person that the board names.', turns: [], calls: [...calls] }],
    attacks: [],
  }
}

async function askedIn(suite: Suite) {
  const { questionsPerTask, waitsPerTask, benign } = rated([await countsOf(suite, policy, 'own', () => {})])
  return { questionsPerTask, waitsPerTask, untouched: benign.untouched }
}

describe('the questions of a replayed task', () => {
  it('are one for each call that is a step of its own', async () => {
    expect(await askedIn(suiteOf(board, desk, hall))).toEqual({ questionsPerTask: 2, waitsPerTask: 2, untouched: 0 })
  })

  it('are one for all calls of a step, each of which waits', async () => {
    const atOnce = [desk, hall].map((call) => ({ ...call, step: 1 }))
    expect(await askedIn(suiteOf(board, ...atOnce))).toEqual({ questionsPerTask: 1, waitsPerTask: 2, untouched: 0 })
  })
})

describe('neighbouring calls', () => {
  const stepsOf = (suite: Suite) => gathered(suite).user_tasks[0]?.calls.map(({ step }) => step)

  it('of one tool are gathered into a step', () => {
    expect(stepsOf(suiteOf(board, desk, hall))).toEqual([1, 2, 2])
  })

  it('stay apart if one takes a value from the result of the other', () => {
    expect(stepsOf(suiteOf(desk, mail('hall@town.example', 'ann@town.example'), mail('ann@town.example')))).toEqual([
      1, 1, 2,
    ])
  })

  it('stay apart if the human wrote in between', () => {
    const suite = suiteOf(board, desk, hall)
    const tasks = suite.user_tasks.map((task) => ({ ...task, turns: [{ text: 'And the hall.', said: '', before: 2 }] }))
    expect(stepsOf({ ...suite, user_tasks: tasks })).toEqual([1, 2, 3])
  })
})
