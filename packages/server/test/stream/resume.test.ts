import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, handoff } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import { createEventDecoder } from '@provost/core'
import type { Server } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore, postgresStore, sqliteStore } from '@provost/sessions'
import { findPostgres, scriptedModel, startPostgres } from '@provost/testing'
import { afterAll, expect, test } from 'vitest'

import type { Frame } from '../served.ts'
import { ask, framesIn } from '../served.ts'

type Model = ReturnType<typeof scriptedModel>

/** A model that stops before its `at`-th part until the gate opens. */
function gated(model: Model, at: number, gate: Promise<void>): Model {
  return {
    ...model,
    async doStream(options) {
      const answer = await model.doStream(options)
      let parts = 0
      type Part = typeof answer.stream extends ReadableStream<infer P> ? P : never
      const held = new TransformStream<Part, Part>({
        async transform(part, controller) {
          if (parts++ === at) await gate
          controller.enqueue(part)
        },
      })
      return { ...answer, stream: answer.stream.pipeThrough(held) }
    },
  }
}

/** Two parallel children, then the target of a handoff; each stops in the middle of its text. */
function team(store: SessionStore, gates: readonly Promise<void>[]): Server {
  const [first = Promise.resolve(), second = Promise.resolve()] = gates
  const words = ['some ', 'words ', 'of ', 'a ', 'child']
  const kid = createAgent({
    name: 'kid',
    model: gated(scriptedModel([{ text: words }], { after: 'repeat-last' }), 4, first),
  })
  const next = createAgent({
    name: 'next',
    model: gated(scriptedModel([{ text: ['last ', 'words ', 'of ', 'all'] }]), 4, second),
  })
  const calls = ['a', 'b'].map((task) => ({ name: 'kid', input: { task } }))
  const boss = createAgent({
    name: 'boss',
    store,
    model: scriptedModel([
      { text: ['let ', 'me ', 'ask'], toolCalls: calls },
      { toolCalls: [{ name: 'transfer_to_next', input: {} }] },
    ]),
    tools: [kid.toTool({ name: 'kid', description: 'asks a child' })],
    handoffs: [handoff(next)],
  })
  return createServer({
    agents: [boss],
    store,
    pollMs: 60_000,
    limits: { connections: 1_000, requestsPerMinute: 10_000 },
  })
}

/** Reads frames as they arrive. */
function reader(response: Response): { readonly frames: Frame[]; readonly over: Promise<void> } {
  const frames: Frame[] = []
  const read = async (): Promise<void> => {
    let text = ''
    const decoder = new TextDecoder()
    const events = createEventDecoder()
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      const end = text.lastIndexOf('\n\n') + 2
      if (end < 2) continue
      frames.push(...framesIn(text.slice(0, end), events))
      text = text.slice(end)
    }
  }
  return { frames, over: read() }
}

/** What a reader must receive once: durable events, and the text of each message. */
function had(frames: readonly Frame[]): { readonly lasting: readonly string[]; readonly said: Record<string, string> } {
  const lasting: string[] = []
  const said: Record<string, string> = {}
  for (const { data } of frames) {
    if (data.type === 'execute_complete') continue
    if (!data.id.includes('~')) lasting.push(`${data.id} ${data.type}`)
    if (data.type === 'text.delta') said[data.messageId] = (said[data.messageId] ?? '') + data.delta
  }
  return { lasting: lasting.toSorted(), said }
}

const textOf = (frames: readonly Frame[]): string => Object.values(had(frames).said).join('|')

const folder = mkdtempSync(join(tmpdir(), 'provost-resume-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Readers drop at each event in full runs, otherwise at every fourth. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
const some = full ? 1 : 4

/** The stores of one process, or of two processes that share one. */
const places: Readonly<Record<string, () => readonly SessionStore[]>> = {
  'in the process of the run': () => [memoryStore()],
  'in another process': () => [sqliteStore(join(folder, 'a.db')), sqliteStore(join(folder, 'a.db'))],
}

/** Runs the team at the first store, disconnects readers at its events, and reconnects them at the last store. */
async function expectResumes(opened: readonly SessionStore[], step: number): Promise<void> {
  const [store = memoryStore(), other = store] = opened
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const here = team(
    store,
    gates.map(({ promise }) => promise),
  )
  const there = other === store ? here : team(other, [])
  const response = await ask(here, '/api/agent/execute', { body: { input: 'go' } })
  const id = response.headers.get('x-session-id') ?? ''
  const whole = reader(response)
  const readers: { readonly before: readonly Frame[]; readonly after: ReturnType<typeof reader> }[] = []
  const follow = async (last: string | undefined, before: readonly Frame[]): Promise<void> => {
    const headers = last === undefined ? {} : { 'last-event-id': last }
    readers.push({ before, after: reader(await ask(there, `/api/agent/session/${id}/events`, { headers })) })
  }
  const silent = [
    'let me ask|some words |some words ',
    'let me ask|some words of a child|some words of a child|last words ',
  ]
  await follow(undefined, [])
  for (const [index, gate] of gates.entries()) {
    await expect.poll(() => textOf(whole.frames)).toBe(silent[index])
    const [far] = readers
    await expect.poll(() => textOf(far?.after.frames ?? [])).toBe(silent[index])
    for (const [at, frame] of [...whole.frames.entries()]) {
      if (frame.id !== undefined && at % step === index % step) await follow(frame.id, whole.frames.slice(0, at + 1))
    }
    gate.resolve()
  }
  await whole.over
  const all = had(whole.frames)
  expect(Object.values(all.said)).toEqual([
    'let me ask',
    'some words of a child',
    'some words of a child',
    'last words of all',
  ])
  expect(whole.frames.filter(({ data }) => data.type === 'agent.start')).toHaveLength(3)
  for (const { before, after } of readers) {
    await after.over
    expect(had([...before, ...after.frames]), `behind ${before.at(-1)?.id}`).toEqual(all)
    expect(after.frames.at(-1)?.data.type).toBe('execute_complete')
  }
  // Also after the end, when ephemeral events are no longer stored.
  for (const [at, frame] of [...whole.frames.entries()]) {
    if (frame.id === undefined || at % (step * 3) > 0) continue
    const rest = await ask(there, `/api/agent/session/${id}/events`, { headers: { 'last-event-id': frame.id } })
    expect(had([...whole.frames.slice(0, at + 1), ...framesIn(await rest.text())]).lasting).toEqual(all.lasting)
  }
  await here.close()
  if (there !== here) await there.close()
  for (const one of opened) await one.close()
}

test.each(Object.entries(places))(
  'a reader that drops at any event of parallel children resumes after it %s',
  (_, stores) => expectResumes(stores(), some),
)

// Starting PostgreSQL takes longer than all other tests here.
test.runIf(full && findPostgres() !== undefined)(
  'a reader that drops at any event resumes after it in another process over PostgreSQL (needs the server)',
  async () => {
    const postgres = await startPostgres()
    try {
      // A hundred readers on ten connections would connect after ephemeral events expire.
      await expectResumes([postgresStore(postgres.url), postgresStore(postgres.url)], 3)
    } finally {
      await postgres.stop()
    }
  },
)
