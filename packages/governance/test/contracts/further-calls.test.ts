import { createAgent } from '@provost/agent'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { manualClock, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import type { Call } from '../data-flow/governed.ts'
import { governed, reader, storyOf } from '../data-flow/governed.ts'

const account = 'DK5000400440116243'
const other = 'NO9386011117947'
const read = { name: 'read_page', input: {} }
const page = reader('read_page', 'The fee is 40.')
const pay = tool({
  name: 'send_money',
  input: z.object({
    recipient: z.string(),
    amount: z.number(),
    date: z.string().optional(),
    urgent: z.boolean().optional(),
  }),
  args: { recipient: 'destination', amount: 'amount', date: 'time', urgent: 'flag' },
  execute: () => 'paid',
})
const post = tool({
  name: 'post_message',
  description: 'Posts a message to a room.',
  input: z.object({ room: z.string(), body: z.string() }),
  args: { room: 'destination', body: 'content' },
  execute: () => 'posted',
})
const payment = (amount: number, more: object = {}, recipient = account): Call => ({
  name: 'send_money',
  input: { recipient, amount, ...more },
})

async function reasons(prompt: string, ...calls: readonly Call[]): Promise<readonly string[]> {
  const { asked } = await storyOf(governed([read, ...calls], [page, pay, post]), prompt)
  return asked.map(({ reason }) => reason)
}

describe('a further call for the same target in a turn', () => {
  const bills = `Read the page and pay the bills of ${account}, about 20 each.`

  test('asks if it has an amount that the user did not write', async () => {
    expect(await reasons(bills, payment(20), payment(19))).toEqual([
      'send_money: the amount “19” is a further one for the same target: call 2',
    ])
  })

  test('passes with an amount of the user', async () => {
    const parts = `Read the page and pay the bills of ${account}: first 20, then 19.`
    expect(await reasons(parts, payment(20), payment(19))).toEqual([])
  })

  test('passes for another target', async () => {
    const both = `Read the page and pay the bills of ${account} and of ${other}: 20 each.`
    expect(await reasons(both, payment(20), payment(20, {}, other))).toEqual([])
  })

  test('asks if its time or its flag differs, and the user did not write it', async () => {
    const bill = `Read the page and pay the bills of ${account}: 20, and 19.`
    const [may, june] = [{ date: '1 May' }, { date: '1 June' }]
    expect(await reasons(bill, payment(20, may), payment(19, may))).toEqual([])
    expect(await reasons(bill, payment(20, may), payment(19, june))).toEqual([
      'send_money: the time “1 June” is a further one for the same target: call 2',
    ])
    expect(await reasons(`${bill} The second on 1 June.`, payment(20, may), payment(19, june))).toEqual([])
    expect(await reasons(bill, payment(20, { urgent: false }), payment(19, { urgent: true }))).toEqual([
      'send_money: a further call for the same target has other settings',
    ])
  })

  test('passes with another text only: content is not judged', async () => {
    const posts = (body: string): Call => ({ name: 'post_message', input: { room: 'yard', body } })
    expect(await reasons('Read the page and post all news in "yard".', posts('one'), posts('two'))).toEqual([])
  })

  test('is compared with parallel calls of the same step', async () => {
    const agent = createAgent({
      name: 'clerk',
      model: scriptedModel([{ toolCalls: [read] }, { toolCalls: [payment(20), payment(19)] }, { text: 'Done.' }]),
      tools: [page, pay],
      extensions: [dataFlowPolicy({ mode: 'enforce' })],
    })
    const { asked } = await storyOf(agent, bills)
    expect(asked).toMatchObject([{ input: { amount: 19 } }])
  })
})

test('the same call again asks, also where the number of calls is not used up', async () => {
  const prompt = `Read the page. Pay 40 to ${account}, then pay 40 to ${other}.`
  expect(await reasons(prompt, payment(40), payment(40))).toEqual([
    'the agent has called send_money with the same arguments before',
  ])
  expect(await reasons(prompt, payment(40), payment(40, {}, other))).toEqual([])
})

describe('the year of a time', () => {
  const prompt = `Read the page and pay 40 to ${account}.`
  async function asksIn(date: string, text = prompt, tools = [page, pay]): Promise<boolean> {
    const agent = createAgent({
      name: 'clerk',
      model: scriptedModel([{ toolCalls: [read] }, { toolCalls: [payment(40, { date })] }, { text: 'Done.' }]),
      tools,
      extensions: [dataFlowPolicy({ mode: 'enforce' })],
      store: memoryStore({ clock: manualClock({ at: Date.parse('2026-03-02') }) }),
    })
    return (await storyOf(agent, text)).asked.length > 0
  }

  test.each([
    ['2026-03-02', false],
    ['2027-01-01', false],
    ['2025-12-31', false],
    ['2031-03-02', true],
    ['20310302', true],
    ['1 March 2031', true],
    ['1930176000', true],
    ['2019', true],
    ['20:31', false],
    ['tomorrow', false],
  ])('%s asks in 2026: %s', async (date, asks) => {
    expect(await asksIn(date)).toBe(asks)
  })

  test('passes if the user or a trusted result named it', async () => {
    expect(await asksIn('2031-03-02', `${prompt} The payment is due in spring 2031.`)).toBe(false)
    const trusted = reader('read_page', { lease: 'ends 2031-12-31' }, { integrity: 'trusted' })
    const mails = reader('read_mail', 'Hello.')
    const agent = createAgent({
      name: 'clerk',
      model: scriptedModel([
        { toolCalls: [read, { name: 'read_mail', input: {} }] },
        { toolCalls: [payment(40, { date: '2031-03-02' })] },
        { text: 'Done.' },
      ]),
      tools: [trusted, mails, pay],
      extensions: [dataFlowPolicy({ mode: 'enforce' })],
    })
    expect((await storyOf(agent, prompt)).asked).toEqual([])
  })

  test('asks if only the text of a third party named it', async () => {
    expect(await asksIn('2031-03-02', prompt, [reader('read_page', 'The fee is due in 2031.'), pay])).toBe(true)
  })
})

describe('a word that stands for something', () => {
  const rooms = reader('read_page', { rooms: ['it', 'yard'] })
  async function asksFor(room: string, prompt: string): Promise<boolean> {
    const calls = [read, { name: 'post_message', input: { room, body: 'Hello.' } }]
    return (await storyOf(governed(calls, [rooms, post]), prompt)).asked.length > 0
  }

  test('is no recipient of the user', async () => {
    const prompt = 'Read the page, sum it up, and post the summary in the room "yard".'
    expect(await asksFor('yard', prompt)).toBe(false)
    expect(await asksFor('it', prompt)).toBe(true)
  })
})

describe('a tool that only the lexicon finds', () => {
  const direct = tool({
    name: 'send_direct_message',
    description: 'Sends a message to a person.',
    input: z.object({ recipient: z.string(), body: z.string() }),
    args: { recipient: 'destination', body: 'content' },
    execute: () => 'sent',
  })
  const channel = tool({
    name: 'send_channel_message',
    description: 'Sends a message to a channel.',
    input: z.object({ channel: z.string(), body: z.string() }),
    args: { channel: 'destination', body: 'content' },
    execute: () => 'sent',
  })
  const share = tool({
    name: 'share_file',
    description: 'Shares a file.',
    input: z.object({ file: z.string(), with: z.string() }),
    args: { file: 'selector', with: 'destination' },
    execute: () => 'shared',
  })
  const tools = [page, direct, channel, share]
  const toAnn = { name: 'send_direct_message', input: { recipient: 'Ann', body: 'Hello.' } }
  const inAnn = { name: 'send_channel_message', input: { channel: 'Ann', body: 'Hello.' } }
  async function askedFor(prompt: string, ...calls: readonly Call[]): Promise<readonly string[]> {
    const { asked } = await storyOf(governed([read, ...calls], tools), prompt, 'approve')
    return asked.map(({ toolName, reason }) => `${toolName}: ${reason}`)
  }
  const doubt = "send_channel_message: the user's words do not show whether they ask for send_channel_message"

  test('asks once after a call that does what the same words ask for', async () => {
    const prompt = 'Read the page and send a direct message to Ann with a summary.'
    expect(await askedFor(prompt, toAnn)).toEqual([])
    expect(await askedFor(prompt, toAnn, inAnn)).toEqual([doubt])
    const again = { ...inAnn, input: { ...inAnn.input, body: 'More.' } }
    expect(await askedFor(prompt, toAnn, inAnn, again)).toEqual([doubt])
  })

  test('passes as the first call, with values of the user', async () => {
    expect(await askedFor('Read the page and send a direct message to Ann with a summary.', inAnn)).toEqual([])
  })

  test('passes if another clause asks for it', async () => {
    const prompt =
      'Read the page and send a direct message to Ann with a summary. Then let the people of “yard” know it too.'
    const inYard = { name: 'send_channel_message', input: { channel: 'yard', body: 'Hello.' } }
    expect(await askedFor(prompt, toAnn, inYard)).toEqual([])
  })

  test('is in doubt in other languages, too, after a call with the same verb', async () => {
    const prompt = 'Lies die Seite und schick Ann eine Nachricht mit einer Zusammenfassung.'
    expect(await askedFor(prompt, toAnn)).toEqual([])
    expect(await askedFor(prompt, toAnn, inAnn)).toEqual([doubt])
  })
})
