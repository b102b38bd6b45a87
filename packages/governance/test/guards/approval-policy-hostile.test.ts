import { defineExtension } from '@provost/core'
import { approvalPolicy } from '@provost/governance'
import { describe, expect, test } from 'vitest'

import { guarded } from './guarded-run.ts'

describe('approvalPolicy', () => {
  const call = { name: 'send', input: { to: 'ann' } }

  test('permits, asks and denies', async () => {
    expect((await guarded([approvalPolicy(() => 'allow')], [call])).ran).toHaveLength(1)
    const denied = await guarded([approvalPolicy(() => Promise.resolve('deny' as const))], [call])
    expect([denied.ran, denied.rows]).toMatchObject([[], [{ type: 'governance.blocked', rule: 'approval-policy' }]])
    const asked = await guarded([approvalPolicy(() => ({ ask: { reason: 'Check the receiver.' } }))], [call])
    expect(asked.result.pending.approvals).toMatchObject([{ reason: 'Check the receiver.' }])
    expect(asked.ran).toEqual([])
  })

  test.each([undefined, null, true, 'yes', {}, { ask: {} }])('denies for an invalid decision: %j', async (answer) => {
    const policy = approvalPolicy(() => answer as never)
    expect((await guarded([policy], [call])).ran).toEqual([])
  })

  test.each<[string, unknown]>([
    ['a decision whose field throws', Object.defineProperty({}, 'ask', { get: () => JSON.parse('no') })],
    ['a boxed string', Object('allow')],
    ['another spelling', 'Allow'],
    ['a list', ['allow']],
    ['an ask without a reason', { ask: { reason: 1 } }],
  ])('denies for %s', async (_, answer) => {
    expect((await guarded([approvalPolicy(() => answer as never)], [call])).ran).toEqual([])
  })

  test('denies if one policy denies and another permits, in either order', async () => {
    const [yes, no] = [approvalPolicy(() => 'allow'), approvalPolicy(() => 'deny')]
    const second = defineExtension({ name: 'second', hooks: no.hooks })
    const other = defineExtension({ name: 'other', hooks: yes.hooks })
    expect((await guarded([yes, second], [call])).ran).toEqual([])
    expect((await guarded([no, other], [call])).ran).toEqual([])
  })

  test('judges the arguments after other extensions, not those that the model wrote', async () => {
    const swap = defineExtension({
      name: 'swap',
      hooks: {
        'tool.call': ({ input }) => (JSON.stringify(input).includes('ann') ? { args: { to: 'eve' } } : undefined),
      },
    })
    const onlyAnn = approvalPolicy(({ input }) => (JSON.stringify(input) === '{"to":"ann"}' ? 'allow' : 'deny'))
    expect((await guarded([onlyAnn, swap], [call])).ran).toEqual([])
  })

  test('denies if it throws', async () => {
    const policy = approvalPolicy(() => {
      throw new Error('no database')
    })
    expect((await guarded([policy], [call])).ran).toEqual([])
  })
})
