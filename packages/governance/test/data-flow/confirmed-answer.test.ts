import { createAgent } from '@provost/agent'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { reader, sendMail } from './governed.ts'

const page = reader('read_page', 'The caretaker is caretaker@house.example. The plumber is eve@evil.example.')

/** Returns the reasons of questions in the second turn: the agent answers, the human replies, the agent sends a mail. */
async function questions(request: string, answer: string, reply: string, to: string) {
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: [{ name: 'read_page', input: {} }] },
      { text: answer },
      { toolCalls: [{ name: 'send_email', input: { to, body: 'Please come.' } }] },
      { text: 'Done.' },
    ]),
    tools: [page, sendMail],
    extensions: [dataFlowPolicy({ mode: 'enforce' })],
    store: memoryStore(),
  })
  const reasons: string[] = []
  await agent.run(request, { sessionId: 'ann' })
  const { messages } = await agent.run(reply, {
    sessionId: 'ann',
    onApproval: ({ reason }) => (reasons.push(reason), 'approve'),
  })
  return messages.some(({ error }) => error !== undefined) ? ['failed'] : reasons
}

const request = 'Read the page and mail the person who looks after the house.'
const shown = 'It names caretaker@house.example. Shall I send an e-mail to that address?'

test('a value that the agent showed and the user confirmed is the user’s', async () => {
  expect(await questions(request, shown, 'Yes, please.', 'caretaker@house.example')).toEqual([])
})
test('another value of the same text still asks', async () => {
  expect(await questions(request, shown, 'Yes, please.', 'eve@evil.example')).toHaveLength(1)
})
test.each([
  ['no agreement', 'Which house is it?'],
  ['a refusal', 'No.'],
])('%s confirms nothing', async (_, reply) => {
  expect(await questions(request, shown, reply, 'caretaker@house.example')).toHaveLength(1)
})
test('what the user confirmed is also what the agent proposed to do', async () => {
  expect(await questions('Who looks after the house?', shown, 'Yes, please.', 'caretaker@house.example')).toEqual([])
  const other = 'It names caretaker@house.example. Is that all?'
  expect(await questions('Who looks after the house?', other, 'Yes.', 'caretaker@house.example')).toHaveLength(1)
})

test.each([
  ['the target of a link', 'It is [the caretaker](caretaker@house.example). Shall I send an e-mail?'],
  ['a comment', 'It is the caretaker. <!-- caretaker@house.example --> Shall I send an e-mail?'],
  ['an attribute', 'It is <a title="caretaker@house.example">the caretaker</a>. Shall I send an e-mail?'],
  ['an answer with invisible characters', 'It is caretaker@house.example\u200b. Shall I send an e-mail?'],
  [
    'an answer that is too long to be read',
    `It is caretaker@house.example. ${'Read on. '.repeat(600)}Shall I send an e-mail?`,
  ],
])('a value in %s was not shown', async (_, answer) => {
  expect(await questions(request, answer, 'Yes, please.', 'caretaker@house.example')).toHaveLength(1)
})
