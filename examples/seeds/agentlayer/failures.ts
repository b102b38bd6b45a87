// When something breaks, one `agent.error` names the error and its source, and the run ends with the same error.
// Changed: a tool that fails is `tool.execute.error`, since the model reads it and the run continues.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const open = tool({
  name: 'open_safe',
  input: z.object({}),
  execute() {
    throw new Error('no key')
  },
})
type Steps = Parameters<typeof scriptedModel>[0]
async function errorsOf(steps: Steps, maxSteps = 5): Promise<{ errors: string[]; rejected: unknown }> {
  const agent = createAgent({ name: 'guard', model: scriptedModel(steps), tools: [open], maxSteps })
  const session = await agent.createSession()
  const errors: string[] = []
  let last: string | undefined
  session
    .on('agent.error', ({ error, source }) => errors.push(`${source.kind} ${source.name}: ${(last = error.code)}`))
    .on('tool.execute.error', ({ toolName, error }) => errors.push(`${toolName}: ${error.message}`))
    .on('agent.end', ({ error }) => assert.equal(error?.code, last))
  session.send('Open the safe')
  const rejected = await session.waitForIdle().then(
    () => undefined,
    (error: unknown) => error,
  )
  return { errors, rejected }
}
const call = { toolCalls: [{ name: 'open_safe' }] }

const noKey = await errorsOf([{ error: Object.assign(new Error('wrong key'), { statusCode: 401 }) }])
assert.deepEqual(noKey.errors, ['model scripted/scripted-model: auth'])
assert.ok(noKey.rejected instanceof Error)

const shut = await errorsOf([call, { text: 'It stays shut.' }])
assert.deepEqual(shut, { errors: ['open_safe: no key'], rejected: undefined })

const endless = await errorsOf([call], 1)
assert.deepEqual(endless.errors, ['open_safe: no key', 'loop guard: max-steps'])
console.log([...noKey.errors, ...endless.errors].join('; ')) // → model scripted/scripted-model: auth; open_safe: no key; loop guard: max-steps
