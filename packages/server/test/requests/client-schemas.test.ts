import { createAgent } from '@provost/agent'
import type { Json, SessionStore } from '@provost/core'
import { createServer } from '@provost/server'
import type { Server } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, framesIn, serverOf } from '../served.ts'

const looking = (pattern: string): object => ({ type: 'object', properties: { a: { type: 'string', pattern } } })
const toolWith = (inputSchema: unknown): object => ({ name: 'look', inputSchema })
const catastrophic = `${'a'.repeat(1_000)}!`

function nested(levels: number): object {
  let schema: object = {}
  for (let i = 0; i < levels; i++) schema = { items: schema }
  return { type: 'object', properties: { a: schema } }
}

test.for([
  ['lookaround', looking('^(?!x)'), '/properties/a/pattern'],
  ['backreferences', looking('^(a)\\1$'), '/properties/a/pattern'],
  ['a pattern that is none', looking('('), '/properties/a/pattern'],
  ['a pattern that is too large', looking('(a{100}){100}'), '/properties/a/pattern'],
  [
    'too many patterns',
    {
      type: 'object',
      patternProperties: Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`^${i}x+$`, {}])),
    },
    '/patternProperties/',
  ],
  [
    'a reference to elsewhere',
    { type: 'object', properties: { a: { $ref: 'http://localhost/x' } } },
    '/properties/a/$ref',
  ],
  ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } }, '/properties/a/$ref'],
  ['a keyword that is not checked', { type: 'object', unevaluatedProperties: false }, '/unevaluatedProperties'],
  ['a keyword of another form', { type: 'object', required: 'a' }, '/required'],
  ['schemas in schemas without end', nested(70), '/properties/a/items/items'],
] as const)('a tool of a client is refused before there is a session: %s', async ([, schema, path]) => {
  const server = serverOf([])
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x', tools: [toolWith(schema)] } })
  expect(response.status).toBe(400)
  const { error } = await response.json()
  expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining(`at ${path}`) })
  expect(error.message).toContain('"look"')
  expect((await (await ask(server, '/api/agent/sessions')).json()).sessions).toEqual([])
  await server.close()
})

test('patterns of all tools of a request are counted together', async () => {
  const server = serverOf([])
  const tools = Array.from({ length: 20 }, (_, i) => ({ ...toolWith(looking('x'.repeat(900))), name: `t${i}` }))
  const response = await ask(server, '/api/agent/execute', { body: { input: 'x', tools } })
  const { error } = await response.json()
  expect(error).toMatchObject({ code: 'invalid-tool', message: expect.stringContaining('"t11"') })
  await server.close()
})

/** The outcome of the only call of a run. */
async function outcome(server: Server, inputSchema: unknown): Promise<string> {
  const { frames, last } = await executed(server, { input: 'x', tools: [toolWith(inputSchema)] })
  await server.close()
  if (last.status === 'suspended') return 'waits for the client'
  expect(last).toMatchObject({ status: 'completed', text: 'done' })
  const refused = frames.flatMap(({ data }) => (data.type === 'tool.execute.error' ? [data.error] : []))
  return `${refused[0]?.code}: ${refused[0]?.message}`
}

const calling = (input: Json): readonly ScriptedStep[] => [{ toolCalls: [{ name: 'look', input }] }, { text: 'done' }]
const tree = Object.fromEntries(
  Array.from({ length: 60 }, (_, i) => [
    `n${i}`,
    { anyOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
  ]),
)

test.for([
  [
    'a pattern that backtracks',
    looking('^(a+)+$'),
    { a: catastrophic },
    'invalid-tool-input: .*does not match the pattern',
  ],
  ['… and one that fits', looking('^(a+)+$'), { a: 'aaa' }, 'waits for the client'],
  [
    'a tree of 2^60 references',
    { type: 'object', properties: { a: { $ref: '#/$defs/n0' } }, $defs: { ...tree, n60: false } },
    { a: 1 },
    'invalid-tool-input: .*takes more than 400000 steps',
  ],
  [
    'a reference to itself',
    { type: 'object', properties: { a: { $ref: '#/properties/a' } } },
    { a: 1 },
    'invalid-tool-input: .*runs in a circle',
  ],
  [
    'unique items',
    { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    { a: Array.from({ length: 50_000 }, (_, i) => i) },
    'waits for the client',
  ],
  [
    'names of the language',
    { type: 'object', properties: { constructor: { type: 'string' } }, required: ['toString'] },
    {},
    'invalid-tool-input: .*toString',
  ],
] as const)('a call of a client’s tool is checked in bounded time: %s', async ([, schema, input, expected]) => {
  expect(await outcome(serverOf(calling(structuredClone(input) as Json)), schema)).toMatch(new RegExp(expected, 's'))
})

/** A store that an older version wrote, with client tool schemas that are rejected today. */
function writtenBefore(store: SessionStore, schema: object): SessionStore {
  return {
    ...store,
    append: (log, entries, at) =>
      store.append(
        log,
        entries.map((entry) =>
          entry.type === 'ext' && entry.key === 'tools'
            ? { ...entry, data: [{ name: 'look', inputSchema: JSON.parse(JSON.stringify(schema)) }] }
            : entry,
        ),
        at,
      ),
  }
}

test.for([
  ['a pattern that backtracks', looking('^(a+)+$'), { a: catastrophic }, 'invalid-tool-input'],
  ['a pattern that is refused today', looking('^(?=(a+)+$)'), { a: catastrophic }, undefined],
  ['references that are refused today', { type: 'object', properties: { a: { $ref: 'x#/a' } } }, { a: 1 }, undefined],
  [
    'a tree of references',
    { type: 'object', properties: { a: { $ref: '#/$defs/n0' } }, $defs: { ...tree, n60: false } },
    { a: 1 },
    'invalid-tool-input',
  ],
  ['schemas in schemas without end', nested(150), { a: [] }, undefined],
] as const)('another process recovers a run whose log holds %s', async ([, schema, input, code]) => {
  const store = memoryStore()
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const wait = tool({
    name: 'wait',
    effect: 'read',
    executionMode: 'sequential',
    input: z.object({}),
    execute: async () => (waiting++, await gate.promise, 'waited'),
  })
  const serverWith = (steps: readonly ScriptedStep[], its: SessionStore): Server =>
    createServer({
      agents: [createAgent({ name: 'desk', model: scriptedModel([...steps]), tools: [wait], store: its })],
      store: its,
      pollMs: 10,
    })
  const before = serverWith(
    [
      {
        toolCalls: [
          { name: 'wait', input: {} },
          { name: 'wait', input: {} },
        ],
      },
    ],
    writtenBefore(store, schema),
  )
  const harmless = { input: 'x', tools: [toolWith({ type: 'object' })] }
  const response = await ask(before, '/api/agent/execute', { body: harmless })
  const id = response.headers.get('x-session-id') ?? ''
  await expect.poll(() => waiting).toBeGreaterThan(0)
  const closing = before.close({ graceMs: 20_000 })
  gate.resolve()
  await closing
  await response.text()

  const after = serverWith(calling(structuredClone(input) as Json), store)
  const rest = framesIn(await (await ask(after, `/api/agent/session/${id}/events`)).text())
  const refused = rest.flatMap(({ data }) =>
    data.type === 'tool.execute.error' && data.toolName === 'look' ? [data.error.code] : [],
  )
  expect(refused).toEqual(code === undefined ? [] : [code])
  const { status } = await (await ask(after, `/api/agent/session/${id}`)).json()
  expect(status).toBe(code === undefined ? 'suspended' : 'idle')
  await after.close()
})
