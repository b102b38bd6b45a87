/** An agent with a tool. Its session is written by one turn, closed, opened again and continued by a second turn. */
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const input = z.object({ a: z.number(), b: z.number() })
const add = tool({ name: 'add', effect: 'read', input, execute: ({ a, b }) => a + b })

/** @param open returns a store, the same sessions each time. @returns 'two turns' */
export async function twoTurns(open) {
  const sessionId = `s-${crypto.randomUUID()}`
  const turn = async (answers, prompt) => {
    const store = open()
    const model = scriptedModel(answers)
    const { status, text, error } = await createAgent({ name: 'desk', model, tools: [add], store }).run(prompt, {
      sessionId,
    })
    assert.equal(status, 'completed', error?.message)
    await store.close?.()
    return text
  }
  const sum = ({ messages }) => ({ text: /"value":"?3/u.test(JSON.stringify(messages.at(-1))) ? 'three' : 'no result' })
  assert.equal(await turn([{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, sum], 'Add.'), 'three')
  const again = ({ messages }) => ({ text: JSON.stringify(messages).includes('three') ? 'turns' : 'no history' })
  return `two ${await turn([again], 'Again.')}`
}
