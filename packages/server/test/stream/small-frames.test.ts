import { gunzipSync } from 'node:zlib'

import { serve } from '@provost/server'
import { describe, expect, it } from 'vitest'

import { paced, readPaced } from '../paced.ts'
import { ask, executed, framesIn, rawFrames, serverOf } from '../served.ts'

const words = Array.from({ length: 35 }, (_, n) => `word number ${n} of an answer that is long, `)
const bytesOf = (text: string): number => Buffer.byteLength(text)

describe('the frames of an event stream', () => {
  it('cost at most 120 bytes beside the text of a delta, and 8 KB for an answer of 1.5 KB in 35 deltas', async () => {
    const world = paced(words)
    const { text, deltas } = await readPaced(
      world,
      await ask(world.server, '/api/agent/execute', { body: { input: 'Go' } }),
    )
    expect(deltas).toBe(35)
    const answer = words.join('')
    expect(bytesOf(answer)).toBeGreaterThan(1_400)
    for (const frame of text.split('\n\n').filter((one) => one.includes('event: text.delta\n'))) {
      const [, delta = '""'] = /"delta":(".*")\}$/u.exec(frame) ?? []
      expect(bytesOf(frame) + 2 - bytesOf(delta)).toBeLessThanOrEqual(120)
    }
    expect(bytesOf(text)).toBeLessThanOrEqual(8_000)
    expect(text.split('word number 7').length - 1).toBe(1)
    expect(framesIn(text).at(-1)?.data).toMatchObject({ status: 'completed', text: answer, output: answer })
  })

  it('are whole events with ?verbose=1', async () => {
    const server = serverOf([{ text: 'Hello' }])
    const { id, frames } = await executed(server, { input: 'Hi' })
    const response = await ask(server, `/api/agent/session/${id}/events?verbose=1`)
    const whole = rawFrames(await response.text())
    const lasting = whole.flatMap(({ id: own, data }) => (own !== undefined && /\.\d+$/u.test(own) ? [data] : []))
    const small = frames.flatMap(({ id: own, data }) => (own !== undefined && /\.\d+$/u.test(own) ? [data] : []))
    const unnumbered = (events: readonly object[]): readonly object[] => events.map((event) => ({ ...event, seq: 0 }))
    expect(unnumbered(lasting)).toEqual(unnumbered(small))
    expect(whole.find(({ event }) => event === 'agent.end')?.id).toBe(lasting.at(-1)?.['id'])
    const refused = await ask(server, `/api/agent/session/${id}/events?verbose=yes`)
    expect(refused.status).toBe(400)
  })

  it('resume after an id with or without the session', async () => {
    const server = serverOf([{ text: 'Hello' }])
    const { id, frames } = await executed(server, { input: 'Hi' })
    const last = frames.findLast((frame) => frame.id !== undefined && frame.event === 'turn.end')?.id ?? ''
    const after = async (given: string): Promise<string> =>
      (await ask(server, `/api/agent/session/${id}/events`, { headers: { 'last-event-id': given } })).text()
    expect(framesIn(await after(last)).map(({ event }) => event)).toEqual(['agent.end', 'execute_complete'])
    expect(await after(`${id}:${last}`)).toBe(await after(last))
  })
})

describe('the compression of an event stream', () => {
  it('is gzip for a client that accepts it, and delays no delta', async () => {
    const world = paced(words)
    const listening = await serve(world.server, { port: 0 })
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip' }
    const body = JSON.stringify({ input: 'Go' })
    const response = await fetch(`${listening.url}/api/agent/execute`, { method: 'POST', headers, body })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('vary')).toContain('accept-encoding')
    // The model waits for each delta to arrive.
    expect((await readPaced(world, response)).deltas).toBe(35)
    await listening.close()
  })

  it('makes a stream smaller', async () => {
    const server = serverOf([{ text: words }])
    const { id } = await executed(server, { input: 'Hi' })
    const path = `/api/agent/session/${id}/events?verbose=1`
    const plain = await (await ask(server, path)).text()
    const response = await ask(server, path, { headers: { 'accept-encoding': 'br, gzip;q=0.8' } })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(gunzipSync(bytes).toString()).toBe(plain)
    expect(bytes.length * 3).toBeLessThan(plain.length)
  })

  it.for(['identity', 'br', 'gzip;q=0', ''])('is left out for a client that accepts %j', async (accepted) => {
    const server = serverOf([{ text: 'Hello' }])
    const { id } = await executed(server, { input: 'Hi' })
    const response = await ask(server, `/api/agent/session/${id}/events`, { headers: { 'accept-encoding': accepted } })
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, 'accept-encoding'])
    expect(framesIn(await response.text()).at(-1)?.event).toBe('execute_complete')
  })

  it('is off with compression: false', async () => {
    const server = serverOf([{ text: 'Hello' }], { compression: false })
    const { id } = await executed(server, { input: 'Hi' })
    const response = await ask(server, `/api/agent/session/${id}/events`, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe(null)
  })
})
