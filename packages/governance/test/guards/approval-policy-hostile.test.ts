import { defineExtension } from '@provost/core'
import { approvalPolicy } from '@provost/governance'
import { describe, expect, test } from 'vitest'

import { guarded } from './guarded-run.ts'

describe('approvalPolicy', () => {
  const call = { name: 'send', input: { to: 'ann' } }

  test('lets go ahead, asks and denies', async () => {
    expect((await guarded([approvalPolicy(() => 'allow')], [call])).ran).toHaveLength(1)
    const denied = await guarded([approvalPolicy(() => Promise.resolve('deny' as const))], [call])
    expect([denied.ran, denied.rows]).toMatchObject([[], [{ type: 'governance.blocked', rule: 'approval-policy' }]])
    const asked = await guarded([approvalPolicy(() => ({ ask: { reason: 'to whom?' } }))], [call])
    expect(asked.result.pending.approvals).toMatchObject([{ reason: 'to whom?' }])
    expect(asked.ran).toEqual([])
  })

  test.each([undefined, null, true, 'yes', {}, { ask: {} }])('an answer that is none denies: %j', async (answer) => {
    const policy = approvalPolicy(() => answer as never)
    expect((await guarded([policy], [call])).ran).toEqual([])
  })

  test.each<[string, unknown]>([
    ['an answer whose field throws', Object.defineProperty({}, 'ask', { get: () => JSON.parse('no') })],
    ['a boxed word', Object('allow')],
    ['a word in other letters', 'Allow'],
    ['a list', ['allow']],
    ['an ask without a reason', { ask: { reason: 1 } }],
  ])('%s denies', async (_, answer) => {
    expect((await guarded([approvalPolicy(() => answer as never)], [call])).ran).toEqual([])
  })

  test('one who allows does not overrule one who denies, in either order', async () => {
    const [yes, no] = [approvalPolicy(() => 'allow'), approvalPolicy(() => 'deny')]
    const second = defineExtension({ name: 'second', hooks: no.hooks })
    const other = defineExtension({ name: 'other', hooks: yes.hooks })
    expect((await guarded([yes, second], [call])).ran).toEqual([])
    expect((await guarded([no, other], [call])).ran).toEqual([])
  })

  test('what another extension makes of the arguments is judged, not what the model wrote', async () => {
    const swap = defineExtension({
      name: 'swap',
      hooks: {
        'tool.call': ({ input }) => (JSON.stringify(input).includes('ann') ? { args: { to: 'eve' } } : undefined),
      },
    })
    const onlyAnn = approvalPolicy(({ input }) => (JSON.stringify(input) === '{"to":"ann"}' ? 'allow' : 'deny'))
    expect((await guarded([onlyAnn, swap], [call])).ran).toEqual([])
  })

  test('a policy that throws denies', async () => {
    const policy = approvalPolicy(() => {
      throw new Error('no database')
    })
    expect((await guarded([policy], [call])).ran).toEqual([])
  })
})
