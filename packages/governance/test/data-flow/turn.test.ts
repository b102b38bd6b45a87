import { createAgent } from '@provost/agent'
import type { PendingApproval } from '@provost/core'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { governed, reader, sendMail, storyOf, verdict } from './governed.ts'

const read = { name: 'read_page', input: {} }
const mail = { name: 'send_email', input: { to: 'ann@example.com', body: 'hello' } }

/** Returns what was asked in each of several turns of one session. The model reads a page first, then makes these calls. */
async function asksPerTurn(
  turns: readonly (readonly [prompt: string, ...calls: { name: string; input: unknown }[]])[],
) {
  const agent = createAgent({
    name: 'clerk',
    model: scriptedModel(
      turns.flatMap(([, ...calls]) => [...calls.map((call) => ({ toolCalls: [call] })), { text: 'Done.' }]),
    ),
    tools: [reader('read_page', 'Cheese is made of milk.'), sendMail],
    extensions: [dataFlowPolicy({ mode: 'enforce' })],
    store: memoryStore(),
  })
  const counts: number[] = []
  for (const [prompt] of turns) {
    const asked: PendingApproval[] = []
    await agent.run(prompt, { sessionId: 'ann', onApproval: (one) => (asked.push(one), 'deny') })
    counts.push(asked.length)
  }
  return counts
}

test('an earlier turn implies no tool, and its values stay the user’s', async () => {
  const request = 'Send ann@example.com an e-mail that says hello.'
  expect(
    await asksPerTurn([
      [request, read, mail],
      ['What is cheese?', mail],
    ]),
  ).toEqual([0, 1])
  expect(
    await asksPerTurn([
      [request, read, mail],
      ['Send her another e-mail.', mail],
    ]),
  ).toEqual([0, 0])
})

test('a message without a request of its own continues the turn before it', async () => {
  const turns = [
    ['Send ann@example.com an e-mail that says hello.', read],
    ['Yes, go ahead.', mail],
  ] as const
  expect(await asksPerTurn(turns)).toEqual([0, 0])
})

test('a steering message extends the turn, and both are counted', async () => {
  const toBob = { name: 'send_email', input: { to: 'bob@example.com', body: 'hello' } }
  const agent = createAgent({
    name: 'clerk',
    model: scriptedModel([...[read, mail, toBob, toBob].map((call) => ({ toolCalls: [call] })), { text: 'Done.' }]),
    tools: [reader('read_page', 'Cheese is made of milk.'), sendMail],
    extensions: [dataFlowPolicy({ mode: 'enforce' })],
    store: memoryStore(),
  })
  const asked: unknown[] = []
  const session = await agent.createSession({ id: 'ann' })
  session.on(
    'tool.execute.start',
    ({ toolName }) => toolName === 'read_page' && session.send('Mail bob@example.com too.'),
  )
  session.on('tool.approval.requested', ({ token, reason }) => {
    asked.push(reason)
    void session.resolve({ approvals: [{ id: token, decision: 'deny' }] })
  })
  session.send('Mail ann@example.com what the page says.')
  await session.waitForIdle()
  expect(asked).toEqual(['the user asked for 2 calls of send_email, and this is call 3'])
})

const rent = tool({
  name: 'rent_car',
  description: 'Rents a car.',
  input: z.object({ company: z.string() }),
  args: { company: 'content' },
  execute: () => 'ok',
})

test.each([
  ['a word that begins like one of them', 'Is the rental agency open?', 'rent_car', 'asked'],
  ['the words themselves', 'Please rent a car.', 'rent_car', 'passed'],
])('several words of the lexicon are found as whole words: %s', async (_, prompt, name, outcome) => {
  expect(await verdict(prompt, { name, input: { company: 'x' } }, [rent])).toBe(outcome)
})

test('the texts of a remote tool do not tell what the tool does', async () => {
  const named = { ...rent, name: 'zork_it', set: 'server', description: 'Sends an e-mail.' }
  expect(await verdict('Send an e-mail.', { name: 'zork_it', input: { company: 'x' } }, [named])).toBe('asked')
})

test('a web address of the user may be opened with a scheme, and with a slash at its end', async () => {
  const open = tool({
    name: 'get_page',
    effect: 'egress',
    input: z.object({ url: z.string() }),
    args: { url: 'destination' },
    execute: () => 'page',
  })
  const opens = (url: string) => verdict('Read shop.example/list.', { name: 'get_page', input: { url } }, [open])
  for (const url of ['https://shop.example/list', 'http://shop.example/list/', 'shop.example/list'])
    expect(await opens(url)).toBe('passed')
  for (const url of ['https://shop.example/lists', 'https://a@shop.example/list', 'ftp://shop.example/list'])
    expect(await opens(url)).not.toBe('passed')
})

test('an item of a list belongs to the record around the list', async () => {
  const wipe = tool({
    name: 'delete_file',
    input: z.object({ file: z.string() }),
    args: { file: 'selector' },
    execute: () => 'ok',
  })
  const folders = [
    { title: 'Open studio', keys: ['k-17', 'k-18'] },
    { title: 'Harbour fair', keys: ['k-19'] },
  ]
  const page = reader('read_page', folders, {}, { '/*/keys': { integrity: 'trusted' } })
  const outcome = async (file: string) => {
    const agent = governed([read, { name: 'delete_file', input: { file } }], [page, wipe])
    return (await storyOf(agent, 'Remove everything in "Open studio".')).outcomes.at(-1)
  }
  expect(await outcome('k-18')).toBe('ran')
  expect(await outcome('k-19')).toBe('tool-denied')
})
