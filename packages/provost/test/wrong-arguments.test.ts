import { readdirSync } from 'node:fs'

import { jsonlStore, pendingWork, priceOf, questionText } from 'provost'
import { textOf, toModelMessages, windowOf } from 'provost'
import { createAgent, fanOut, memoryStore, ProvostError, rich, runFanOut, sandboxed } from 'provost'
import { tool } from 'provost'
import { verifyAudit } from 'provost/governance'
import { sanitizeInbound } from 'provost/governance'
import { compaction, createMemory } from 'provost/memory'
import { replayHandoffs, replayInputs } from 'provost/replay'
import { sanitizeAnnotations } from 'provost/sessions'
import { sqliteMemory, sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'
import { describe, expect, it } from 'vitest'

const wrong: readonly unknown[] = [undefined, null, {}, [], [null], 1, '', 'x', true]

/** All lists of wrong arguments up to a length. */
function listsOf(length: number): readonly (readonly unknown[])[] {
  if (length === 0) return [[]]
  const shorter = listsOf(length - 1)
  return [
    ...shorter,
    ...shorter.filter((list) => list.length === length - 1).flatMap((list) => wrong.map((one) => [...list, one])),
  ]
}

function methodOf(target: object, name: string): (...args: readonly unknown[]) => unknown {
  const method: unknown = Reflect.get(target, name)
  if (typeof method !== 'function') throw new Error(`there is no ${name}`)
  return (...args) => Reflect.apply(method, target, args)
}

/** What a call throws, rejects with, or reports as the error of its result. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    const given = call()
    if (isIterable(given)) for await (const _ of given) break
    const result: unknown = await (hasResult(given) ? given.result : given)
    return typeof result === 'object' && result !== null && 'error' in result ? result.error : undefined
  } catch (thrown) {
    return thrown
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function hasResult(value: unknown): value is { readonly result: unknown } {
  return typeof value === 'object' && value !== null && 'result' in value
}

async function expectFamilyErrors(call: (...args: readonly unknown[]) => unknown, most = 2): Promise<void> {
  for (const args of listsOf(most)) {
    const error = await errorOf(() => call(...args))
    if (error instanceof ProvostError && error.code !== 'unexpected') continue
    expect(error, `for ${JSON.stringify(args)}`).toBeUndefined()
  }
}

const model = scriptedModel([{ text: 'ok' }], { after: 'repeat-last' })
const agent = createAgent({ name: 'desk', model, extensions: [compaction()] })
const memory = createMemory({ store: sqliteMemory(':memory:') })
const stores = { memoryStore: memoryStore(), sqliteStore: sqliteStore(':memory:') }
const storeMethods = [
  ...['lease', 'leaseState', 'releaseQuarantine', 'release', 'append', 'read', 'deliver', 'blob', 'putBlob', 'list'],
  'delete',
]

describe('a wrong argument gives an error of the family, or none', () => {
  it.each([
    'run',
    'stream',
    'abort',
    'createSession',
    'resumeSession',
    'compact',
    'releaseQuarantine',
    'changeSince',
    'toTool',
  ])('agent.%s', (name) => expectFamilyErrors(methodOf(agent, name)))

  it.each(['get', 'source', 'listEager'])('agent.registry.%s', (name) =>
    expectFamilyErrors(methodOf(agent.registry, name)),
  )

  it.each(['write', 'read'])('agent.progress.%s', (name) => expectFamilyErrors(methodOf(agent.progress, name)))

  it.each([
    'send',
    'deliver',
    'stream',
    'resume',
    'resolve',
    'on',
    'off',
    'fork',
    'compact',
    'reset',
    'abort',
    'close',
  ])('session.%s', (name) =>
    expectFamilyErrors(async (...args) => {
      const session = await agent.createSession()
      const error = await errorOf(() => methodOf(session, name)(...args))
      if (error !== undefined) throw error
      await session.waitForIdle()
    }),
  )

  it.each(['append', 'splice', 'replaceRange', 'replace', 'transaction', 'batch'])('session.messages.%s', (name) =>
    expectFamilyErrors(async (...args) => {
      const session = await agent.createSession({ messages: [{ role: 'user', content: 'x' }] })
      methodOf(session.messages, name)(...args)
    }),
  )

  it.each(['remember', 'recall', 'update', 'supersede', 'confirm', 'forget', 'list', 'explain'])('memory.%s', (name) =>
    expectFamilyErrors(methodOf(memory, name)),
  )

  it.each(
    Object.entries(stores).flatMap(([name, store]) => storeMethods.map((method) => [name, method, store] as const)),
  )('%s().%s', (_, name, store) => expectFamilyErrors(methodOf(store, name), 3))

  it.each(
    Object.entries({
      ...{ tool, rich, fanOut, runFanOut, sandboxed, sanitizeInbound, createAgent },
      ...{ textOf, windowOf, priceOf, toModelMessages, verifyAudit, replayHandoffs, replayInputs, questionText },
      ...{ sanitizeAnnotations, pendingWork },
    }),
  )('%s', (_, call) => expectFamilyErrors((...args) => Reflect.apply(call, undefined, args)))
})

it.each([[''], [undefined], [null]])('jsonlStore(%j) is rejected and creates no folder', (dir) => {
  const before = readdirSync('.')
  expect(() => Reflect.apply(jsonlStore, undefined, [dir])).toThrow(
    expect.objectContaining({ code: 'invalid-argument' }),
  )
  expect(readdirSync('.')).toEqual(before)
})

it('the error names the method, what came, and what to give', async () => {
  const forget = methodOf(memory, 'forget')
  await expect(forget({})).rejects.toMatchObject({ code: 'invalid-scope', hint: expect.any(String) })
  await expect(methodOf(memory, 'explain')(null)).rejects.toMatchObject({
    code: 'invalid-argument',
    message: 'The first argument of memory.explain is null.',
    hint: 'Give a text.',
  })
  expect(() => methodOf(stores.memoryStore, 'read')(1)).toThrow('The first argument of store.read is of type number.')
})
