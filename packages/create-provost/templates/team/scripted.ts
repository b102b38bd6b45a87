import { scriptedModel } from 'provost/testing'

import type { Models } from './team.ts'

type Step = Exclude<Parameters<typeof scriptedModel>[0][number], (...args: never) => unknown>

/**
 * A model that gives answer n after n results of tools. So it continues in any process where the last one stopped, as a real
 * model does.
 */
const answers = (...steps: [Step, ...Step[]]) =>
  scriptedModel(
    [
      ({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').length
        return steps[results] ?? steps.at(-1) ?? {}
      },
    ],
    { after: 'repeat-last' },
  )

/** Scripted answers to "My shirt came torn. Order 17.", in place of real models. They need no key. */
export const scripted = (): Models => ({
  desk: answers(
    { toolCalls: [{ name: 'ask_warehouse', input: { task: 'What is order 17?' } }] },
    { toolCalls: [{ name: 'ask_billing', input: { task: 'Refund order 17, 80 euros.' } }] },
    { text: 'I am sorry about the shirt. Billing has your refund of order 17.' },
  ),
  warehouse: answers(
    { toolCalls: [{ name: 'look_up', input: { orderId: '17' } }] },
    { text: 'A shirt for 80 euros, delivered.' },
  ),
  billing: answers(
    { toolCalls: [{ name: 'refund', input: { orderId: '17', euros: 80 } }] },
    { text: 'The refund of order 17 is decided.' },
  ),
})
