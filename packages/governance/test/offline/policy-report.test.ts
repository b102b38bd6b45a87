import { policyReportText, reportPolicy } from '@provost/governance'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { reader, sendMail } from '../data-flow/governed.ts'
import { inbox, mailTo, readInbox, record } from './recorded.ts'

const partner = (to: unknown) => (JSON.stringify(to).includes('bob@work.example') ? 'approve' : 'deny')
const steps = [inbox, mailTo('eve@away.example'), mailTo('bob@work.example'), mailTo('ann@example.com')]

test('questions are grouped, with the answers of humans and the values that cause them', async () => {
  const runs = [await record(steps, { answer: partner }), await record(steps, { answer: partner })]
  const report = await reportPolicy(runs.map(({ exported }) => exported))
  expect(report).toMatchObject({ sessions: 2, runs: 2, questions: 6, approved: 2, refused: 4, denials: 0, unknown: 0 })
  expect(report.questionsPer100Runs).toBe(300)
  expect(report.groups).toEqual([
    {
      ...{ rule: 'argument-origin', tool: 'send_email', role: 'destination', origin: 'prose' },
      ...{ questions: 4, approved: 2, refused: 2 },
    },
    { rule: 'contract', tool: 'send_email', questions: 2, approved: 0, refused: 2 },
  ])
  expect(report.values).toEqual([
    { role: 'destination', value: 'eve@away.example', questions: 2, approved: 0, refused: 2 },
    { role: 'destination', value: 'bob@work.example', questions: 2, approved: 2, refused: 0 },
  ])
  expect(report.removedByValues).toBe(4)
})

test('only what humans approved every time is proposed', async () => {
  const { exported } = await record(steps, { answer: partner })
  const { proposals } = await reportPolicy([exported])
  expect(proposals).toEqual([
    { kind: 'known-value', role: 'destination', value: 'bob@work.example', questions: 1, approved: 1, refused: 0 },
  ])
  const shadow = await record(steps, { policy: { mode: 'shadow' } })
  const report = await reportPolicy([shadow.exported])
  expect(report.questions).toBeGreaterThan(0)
  expect(report.proposals).toEqual([])
})

test('a field whose values were approved is proposed with its place in a list left open', async () => {
  const listTickets = reader(
    'list_tickets',
    {
      tickets: [
        { id: 'T-4711', text: 'Broken.' },
        { id: 'T-4712', text: 'Late.' },
      ],
    },
    { integrity: 'untrusted', sources: ['tickets'] },
  )
  const close = tool({
    name: 'close_ticket',
    effect: 'write',
    input: z.object({ id: z.string() }),
    args: { id: 'selector' },
    execute: ({ id }) => `closed ${id}`,
  })
  const closing = (id: string) => ({ toolCalls: [{ name: 'close_ticket', input: { id } }] })
  const calls = [{ toolCalls: [{ name: 'list_tickets', input: {} }] }, closing('T-4712'), closing('T-4711')]
  const options = { tools: [listTickets, close], prompt: 'Close a ticket or two.', answer: 'approve' } as const
  const { exported } = await record(calls, options)
  const { proposals } = await reportPolicy([exported])
  expect(proposals[0]).toMatchObject({
    kind: 'trusted-field',
    tool: 'list_tickets',
    field: '/tickets/*/id',
    questions: 2,
  })
})

test('with a policy the report counts what that policy would ask', async () => {
  const { agent, exported } = await record(steps, { policy: false })
  expect((await reportPolicy([exported])).questions).toBe(0)
  const judged = await reportPolicy([exported], { policy: { mode: 'enforce' }, agents: [agent] })
  expect(judged).toMatchObject({ questions: 3, approved: 0, refused: 0 })
  const unknown = await reportPolicy([exported], {
    policy: { mode: 'enforce' },
    agents: [],
    tools: [readInbox, sendMail],
  })
  expect(unknown).toMatchObject({ questions: 0, unknown: 4 })
})

test('the text has values only on request, and no control characters of a hostile value', async () => {
  const { exported } = await record([inbox, mailTo('eve@away.example\u001b[2J\u202e')])
  const report = await reportPolicy([exported])
  expect(policyReportText(report)).not.toContain('eve@')
  const text = policyReportText(report, { values: true })
  expect(text).toContain('eve@away.example')
  for (const hidden of ['\u001b', '\u202e']) expect(text).not.toContain(hidden)
})
