// Long results: cut for the model, or kept whole behind a handle that it reads on by.
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const log = Array.from({ length: 5_000 }, (_, at) => `${at + 1} ${at === 4_321 ? 'ERROR disk full' : 'ok'}\n`).join('')

const serverLog = tool({
  name: 'server_log',
  effect: 'read',
  input: z.object({}),
  // Of what is longer than 100 tokens (16,384 unless a tool says otherwise) the model gets the beginning and a handle.
  maxResultTokens: 100,
  truncation: 'spill',
  execute: () => log,
})
const summary = tool({
  name: 'summary',
  effect: 'read',
  input: z.object({}),
  maxResultTokens: 80,
  truncation: 'middle',
  execute: () => `The log begins. ${'Nothing happens. '.repeat(1_000)}Look at line 4,322.`,
})

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'server_log' }, { name: 'summary' }] },
    ({ messages }) => {
      const handle = /res_[\w-]+/.exec(JSON.stringify(messages))?.[0] ?? ''
      return { toolCalls: [{ name: 'read_result', input: { handle, lines: { from: 4_321, to: 4_323 } } }] }
    },
    { toolCalls: [{ name: 'read_result', input: { handle: 'docs://errors', bytes: { from: 0, to: 25 } } }] },
    { text: 'The disk was full.' },
  ])

const agent = createAgent({
  name: 'operator',
  model,
  tools: [serverLog, summary],
  // Handles may also be URIs: a reader for each scheme gives the range of bytes that is asked for.
  resultReaders: { docs: (_uri, { from, to }) => 'disk full: delete old logs first, then …'.slice(from, to) },
})

const stream = agent.stream('What went wrong last night?')
for await (const event of stream) {
  if (event.type !== 'tool.execute.end') continue
  const { toolName, output } = event
  const said = output.type === 'content' ? output.value.map((part) => (part.type === 'text' ? part.text : '')) : []
  // What was spilled or cut ends with a note in brackets, or has it in its middle.
  if (output.type === 'text') said.push(/^\[.*/m.exec(output.value)?.[0] ?? '')
  for (const line of said.join('').trimEnd().split('\n'))
    console.log(`${toolName}: ${line.replace(/res_[\w-]+/, 'res_…')}`)
}
console.log((await stream.result).text)
// → server_log: [The first 92 of 38906 bytes (5000 lines). The whole is kept: go on with read_result({"handle":"res_…","bytes":{"from":92,"to":32860}}), or give lines instead of bytes.]
// → summary: [16837 of 17035 characters are left out here.]
// → read_result: 4321 ok
// → read_result: 4322 ERROR disk full
// → read_result: 4323 ok
// → read_result: [Lines 4321 to 4323 of 5000, bytes 33453 to 33490 of 38906. Go on with lines from 4324.]
// → read_result: disk full: delete old log[Bytes 0 to 25. Go on with bytes from 25.]
// → The disk was full.
