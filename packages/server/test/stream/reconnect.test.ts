import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { SessionStore } from '@provost/core'
import type { Server } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { afterAll, describe, expect, it } from 'vitest'

import type { Frame } from '../served.ts'
import { ask, framesIn, rawFrames } from '../served.ts'

/** A server whose runs ask a child between two answers. */
function serving(store: SessionStore): Server {
  const model = scriptedModel(
    [
      ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? { reasoning: 'So it is.', text: ['It ', 'is ', 'there.'] }
          : { text: ['Let ', 'me ', 'look.'], toolCalls: [{ name: 'kid', input: { task: 'Look.' } }] },
    ],
    { after: 'repeat-last' },
  )
  const seeing = scriptedModel([{ text: ['I ', 'see ', 'it.'] }], { after: 'repeat-last' })
  const kid = createAgent({ name: 'kid', model: seeing }).toTool({ name: 'kid', description: 'Looks.' })
  const agent = createAgent({ name: 'desk', model, store, tools: [kid] })
  return createServer({ agents: [agent], store, limits: { connections: 10_000, requestsPerMinute: 1_000_000 } })
}

/** Returns the first frames of a stream, and leaves it. */
async function textOf(response: Response, frames = Number.POSITIVE_INFINITY): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.split('\n\n').length > frames) break
  }
  const blocks = text.split('\n\n').slice(0, -1)
  return blocks
    .slice(0, frames)
    .map((block) => `${block}\n\n`)
    .join('')
}

const names = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}/gu

/** What a reader received, without the names of sessions and runs. */
interface Received {
  /** The events by type and id. The start of an answer may come again. */
  readonly events: readonly string[]
  /** The texts of the deltas, which may come joined. */
  readonly said: Readonly<Record<string, string>>
}

function received(frames: readonly Frame[]): Received {
  const starts = new Set<string>()
  const said: Record<string, string> = {}
  const events = frames.flatMap(({ data }) => {
    if (data.type === 'execute_complete') return [data.type]
    const id = data.id.replaceAll(names, '')
    if (data.type === 'text.delta' || data.type === 'reasoning.delta') {
      const part = `${data.messageId.replaceAll(names, '')} ${data.type} ${data.partId}`
      said[part] = (said[part] ?? '') + data.delta
      return []
    }
    if (data.type !== 'message.start') return [`${data.type} ${id}`]
    starts.add(`${data.type} ${id}`)
    return []
  })
  return { events: [...events, ...starts].toSorted(), said }
}

const folder = mkdtempSync(join(tmpdir(), 'provost-reconnect-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const places: readonly (readonly [string, () => readonly SessionStore[]])[] = [
  ['in the process of the run', () => [memoryStore()]],
  ['in the process of the run, over SQLite', () => [sqliteStore(join(folder, 'a.db'))]],
  ['in another process', () => [sqliteStore(join(folder, 'b.db')), sqliteStore(join(folder, 'b.db'))]],
]

const forms = ['', '?verbose=1']

function decoded(text: string, form: string): readonly Frame[] {
  // A verbose frame is the whole event.
  return form === ''
    ? framesIn(text)
    : rawFrames(text).map((frame) => ({ ...frame, data: frame.data as unknown as Frame['data'] }))
}

/**
 * Turns of the event loop before the reader is back: the run goes on, is about to end, or has ended. Full runs try each
 * after each frame, otherwise one of them after every third.
 */
const waits = [0, 1, 5, 20]
const full = process.env['PROVOST_TEST_FULL'] === '1'

describe('a reader that reconnects', () => {
  it.for(places.flatMap(([place, stores]) => forms.map((form) => [place, form, stores] as const)))(
    'receives every event %s (%s)',
    async ([, form, stores]) => {
      const opened = stores()
      const [store = memoryStore(), other = store] = opened
      const here = serving(store)
      const there = other === store ? here : serving(other)
      const start = async (): Promise<Response> => ask(here, `/api/agent/execute${form}`, { body: { input: 'go' } })
      const uncut = await textOf(await start())
      const whole = received(decoded(uncut, form))
      expect(whole.events.filter((event) => event.startsWith('text.end'))).toHaveLength(3)
      const count = uncut.split('\n\n').length - 1
      for (let cut = 1; cut < count; cut += full ? 1 : 3) {
        for (const turns of full ? waits : [waits[cut % waits.length] ?? 0]) {
          const response = await start()
          const before = decoded(await textOf(response, cut), form)
          for (let n = 0; n < turns; n++) await turn()
          const last = before.findLast((frame) => frame.id !== undefined)?.id
          const path = `/api/agent/session/${response.headers.get('x-session-id')}/events${form}`
          const again = await ask(there, path, last === undefined ? {} : { headers: { 'last-event-id': last } })
          const after = decoded(await textOf(again), form)
          expect(received([...before, ...after]), `behind frame ${cut}, ${last}, after ${turns} turns`).toEqual(whole)
        }
      }
      await here.close()
      if (there !== here) await there.close()
      for (const one of opened) await one.close()
    },
  )
})
