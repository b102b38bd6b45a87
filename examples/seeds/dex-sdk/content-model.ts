// What messages are made of: text, files, reasoning, calls and results, and the forms that a result can have.
// Changed: in a message an image is a file with an image type, and bytes are base64, because messages are JSON.
import assert from 'node:assert/strict'

import { createAgent, rich, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')
const camera = tool({
  name: 'camera',
  effect: 'read',
  input: z.object({ mode: z.enum(['text', 'json', 'picture', 'broken', 'full']) }),
  execute({ mode }) {
    if (mode === 'text') return 'a gull'
    if (mode === 'json') return { gulls: 1 }
    if (mode === 'broken') throw new Error('The lens is dirty.')
    if (mode === 'full') return rich({ free: 0 }, { error: 'The card is full.' })
    const picture = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } } as const
    return rich('a gull', { content: [{ type: 'text', text: 'One gull:' }, picture], details: { shutter: 250 } })
  },
})
const modes = ['text', 'json', 'picture', 'broken', 'full']
const model = scriptedModel([
  ({ messages: [user] }) => {
    assert.deepEqual(Array.isArray(user?.content) && user.content.map(({ type }) => type), ['text', 'file', 'file'])
    return { reasoning: 'All of them.', toolCalls: modes.map((mode) => ({ name: 'camera', input: { mode } })) }
  },
  ({ messages }) => {
    // The picture reaches the model, the details do not.
    assert.ok(JSON.stringify(messages).includes('One gull:') && !JSON.stringify(messages).includes('shutter'))
    return { text: 'A gull.' }
  },
])
const { messages } = await createAgent({ name: 'birder', model, tools: [camera] }).run([
  { type: 'text', text: 'What is there, and is it in my books?' },
  { type: 'image', image: png, mediaType: 'image/png' },
  { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url: 'https://example.com/birds.pdf' } },
])

const parts = messages.slice(1).flatMap(({ content }) => content)
const types = parts.map(({ type }) => type)
assert.deepEqual([...new Set(types)], ['reasoning', 'tool-call', 'tool-result', 'text'])
const outputs = parts.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
assert.deepEqual(outputs[0], { type: 'text', value: 'a gull' })
assert.deepEqual(outputs[1], { type: 'json', value: { gulls: 1 } })
assert.equal(outputs[2]?.type === 'content' && outputs[2].value[1]?.type, 'file')
assert.deepEqual(outputs[3], { type: 'error-text', value: 'The lens is dirty.' })
assert.deepEqual(outputs[4], { type: 'error-json', value: { free: 0 } })
console.log(outputs.map(({ type }) => type).join(', ')) // → text, json, content, error-text, error-json
