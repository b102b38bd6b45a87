import { createAgent, defineExtension, ProvostError, tool, z } from 'provost'
import type { AgentEvent } from 'provost'
import { fromMessageStore } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'
import { expect, test } from 'vitest'

// What the compiler refuses can still arrive, from JavaScript or through an `any`.
function unchecked(value: unknown): never {
  return value as never
}

function thrownBy(make: () => unknown): ProvostError {
  try {
    make()
  } catch (thrown) {
    if (thrown instanceof ProvostError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const model = scriptedModel([{ toolCalls: [{ name: 'note', input: { text: 'x' } }] }, { text: 'done' }])
const noop = (): void => {}
const bare = { name: 'note', execute: (): number => 1 }
const byHand = { name: 'note', description: 'Notes.', inputSchema: z.object({}), execute: () => 1 }

test.each([
  ['a tool made by hand', { tools: [bare] }, 'tools[0]', 'tool({'],
  ['a plain object with a name', { tools: [byHand] }, 'tools[0] is a plain object', 'tool({ name: "note"'],
  ['a plain object without a schema', { tools: { note: bare } }, 'tools.note is a plain object', 'tool({'],
  ['a tool of the AI SDK without a name', { tools: [byHand] }, 'tools[0]', 'tools: [{'],
  ['what is no tool in a record', { tools: { note: 1 } }, 'tools.note', 'tool({'],
  ['tools that are no list', { tools: 'note' }, 'tools', 'tool({'],
  ['a strategy that does not exist', { toolCollisions: 'rename' }, 'toolCollisions: rename', 'auto-prefix'],
  [
    'an extension made without defineExtension',
    { extensions: [{ name: 'x', hooks: {} }] },
    'extensions[0]',
    'defineExtension({',
  ],
  [
    'an extension with tools made without defineExtension',
    { extensions: [{ name: 'x', tools: [], skills: [] }] },
    'extensions[0]',
    'defineExtension({ name, tools',
  ],
  ['a limit that is no number', { maxSteps: Number('twenty') }, 'maxSteps: NaN', 'from 1'],
  ['no room for tools', { maxParallelTools: 0 }, 'maxParallelTools: 0', 'from 1'],
  ['an output that cannot validate', { output: { type: 'object' } }, 'is not a Standard Schema', 'z.object'],
  ['an output that is not JSON', { output: z.object({ at: z.date() }) }, 'Date', 'transform'],
  ['no model', { model: undefined }, 'no model', 'anthropic/'],
])('%s is refused when the agent is made, with a remedy', (_, options, message, hint) => {
  const error = thrownBy(() => createAgent(unchecked({ name: 'desk', model, ...options })))
  expect(error.code).toBe('invalid-agent')
  expect(error.message).toContain('Agent desk')
  expect(error.message).toContain(message)
  expect(error.message).not.toContain('..')
  expect(error.hint).toContain(hint)
})

test.each<[string, unknown, string]>([
  ['a store of messages', { load: noop, append: noop, exists: noop }, 'fromMessageStore(store)'],
  ['a store that lacks methods', { append: noop }, 'fromMessageStore({ load, append, exists })'],
  ['the name of a store', 'memory', 'memoryStore()'],
])('%s is refused as store, when the agent is made and when a session is', async (_, store, hint) => {
  const expected = expect.objectContaining({ code: 'invalid-store', hint: expect.stringContaining(hint) })
  expect(thrownBy(() => createAgent(unchecked({ name: 'desk', model, store })))).toEqual(expected)
  const desk = createAgent({ name: 'desk', model })
  await expect(desk.createSession(unchecked({ store }))).rejects.toEqual(expected)
  await expect(desk.resumeSession('x', unchecked({ store }))).rejects.toEqual(expected)
})

test('a store of messages that lacks a method is refused by its wrapper', () => {
  const error = thrownBy(() => fromMessageStore(unchecked({ load: noop, append: noop })))
  expect([error.code, error.message]).toEqual(['invalid-store', 'fromMessageStore got a store without exists().'])
})

test('an agent without a name says so', () => {
  expect(thrownBy(() => createAgent(unchecked({ model }))).message).toBe('An agent needs a name.')
})

test('a schema that a model cannot be told of is refused in one sentence', () => {
  const error = thrownBy(() => tool({ name: 'at', input: z.object({ at: z.date() }), execute: () => 1 }))
  expect(error.code).toBe('invalid-tool')
  expect(error.message).toMatch(/"at".*Date[^.]*\.$/)
})

test('a misspelt hook is refused: its policy would govern nothing', () => {
  const error = thrownBy(() =>
    defineExtension(unchecked({ name: 'policy', hooks: { 'tool.cal': () => ({ deny: 'no' }) } })),
  )
  expect(error.code).toBe('invalid-extension')
  expect(error.message).toContain('"tool.cal"')
  expect(error.hint).toContain('tool.call')
})

test('an observer that does more than listen is refused: nothing would miss it', () => {
  const error = thrownBy(() =>
    defineExtension({ name: 'policy', observer: true, hooks: { 'tool.call': () => ({ deny: 'no' }) } }),
  )
  expect(error.code).toBe('invalid-extension')
  expect(error.hint).toContain('event')
})

test('an answer that a tool.call hook cannot give denies the call, and is reported', async () => {
  const noted: string[] = []
  const note = tool({
    name: 'note',
    input: { type: 'object' },
    execute: (input) => void noted.push(JSON.stringify(input)),
  })
  const lenient = defineExtension({ name: 'lenient', hooks: { 'tool.call': () => unchecked({ allow: true }) } })
  const script = scriptedModel([{ toolCalls: [{ name: 'note', input: { text: 'x' } }] }, { text: 'done' }])
  const agent = createAgent({ name: 'desk', model: script, tools: [note], extensions: [lenient] })
  const events: AgentEvent[] = []
  for await (const event of agent.stream('Note it.')) events.push(event)
  expect(noted).toEqual([])
  expect(events.find((event) => event.type === 'agent.error')).toMatchObject({
    error: { code: 'invalid-answer' },
    source: { kind: 'hook', name: 'lenient' },
  })
})

test('a limit of a run that is no number is refused, rather than being no limit', async () => {
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'ok' }]) })
  await expect(agent.run('Go.', { maxSteps: NaN })).rejects.toMatchObject({ code: 'invalid-option' })
})
