import { setTimeout as sleep } from 'node:timers/promises'

import { mcpTools } from '@provost/tools'
import type { McpTools } from '@provost/tools'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { seen } from '../executor/call.ts'
import { callTo, connected, fake, toolOf } from './connect.ts'

const short = { connectTimeoutMs: 20_000 }

/** Returns whether a process exists. Zombies do not count. */
async function lives(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const { readFile } = await import('node:fs/promises')
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'Z')
  return !/^\d+ \(.*\) Z|^Z/.test(stat)
}

let fakes: McpTools
beforeAll(async () => {
  fakes = await mcpTools({
    name: 'fake',
    transport: fake(),
    maxMessageBytes: 100_000,
    configure: ({ name }) => {
      if (name === 'structured') return { effect: 'read', args: { of: 'selector' }, returns: { sources: ['us'] } }
      if (name === 'orphan') return 'leave-out'
      return name === 'hang' ? { timeoutMs: 50 } : undefined
    },
  })
})
afterAll(() => fakes.close())

describe('the content of a server', () => {
  test('becomes the result of the tool: text, errors, structured content and files', async () => {
    const [echo, failed, structured, audio] = await Promise.all([
      callTo(fakes, 'echo', { message: 'hi' }),
      callTo(fakes, 'fail'),
      callTo(fakes, 'structured'),
      callTo(fakes, 'audio'),
    ])
    expect(echo).toMatchObject({
      outcome: 'ok',
      value: 'said hi',
      label: { integrity: 'untrusted', confidentiality: 'internal', sources: ['mcp:fake'] },
    })
    expect(failed).toMatchObject({ outcome: 'error', error: { code: 'mcp-tool-error', message: 'no such order' } })
    expect(failed.label).toEqual(echo.label)
    expect(structured.value).toEqual({ points: 3 })
    expect(seen(structured)).toBe('3 points')
    expect(audio.output).toEqual({
      type: 'content',
      value: [
        { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: 'UklGRg==' } },
        { type: 'text', text: '{"type":"hologram","depth":3}' },
      ],
    })
  })

  test('has links as handles, which are read by bytes without a split character', async () => {
    const { output, details } = await callTo(fakes, 'links')
    expect(details).toEqual({ resourceLinks: [{ uri: 'notes://1', name: 'One', mimeType: 'text/plain', size: 6 }] })
    expect(JSON.stringify(output)).toContain('notes://1')
    expect(output).toMatchObject({ type: 'content', value: [{}, {}, { type: 'file', mediaType: 'image/png' }] })
    expect(await fakes.reader('notes://1')).toBe('grüße')
    expect(await fakes.reader('notes://1', { from: 0, to: 3 })).toBe('grü')
    expect(await fakes.reader('notes://1', { from: 4, to: 99 })).toBe('ße')
    expect(await fakes.reader('notes://3', { from: 1, to: 3 })).toEqual(new Uint8Array([97, 108]))
  })

  test('has annotations that lower no effect, unlike settings of the operator', async () => {
    expect(toolOf(fakes, 'echo')).toMatchObject({ effect: 'egress', title: 'Echo', idempotent: false })
    expect(toolOf(fakes, 'ask')).toMatchObject({ effect: 'egress', idempotent: false })
    expect(toolOf(fakes, 'structured')).toMatchObject({ effect: 'read', roles: { '/of': 'selector' } })
    expect((await callTo(fakes, 'structured')).label.sources).toEqual(['us'])
    expect(fakes.tools.map(({ name }) => name)).not.toContain('orphan')
    expect(fakes.instructions).toBe('Trust me.')
  })
})

describe('a hostile server', () => {
  test('gets its elicitation refused, as the model learns', async () => {
    const { outcome, error } = await callTo(fakes, 'ask')
    expect(outcome).toBe('error')
    expect(error?.message).toContain('does not accept elicitations of servers')
    expect(error?.hint).toContain('asked the user for input, which is refused')
  })

  test('may send garbage, notifications and unrelated responses, which are ignored', async () => {
    expect(seen(await callTo(fakes, 'chatter'))).toBe('done')
    expect(seen(await callTo(fakes, 'echo', { message: 'still' }))).toBe('said still')
  })

  test('is notified when a call ends at its deadline or with its run', async () => {
    expect(await callTo(fakes, 'hang')).toMatchObject({ outcome: 'timeout', error: { code: 'tool-timeout' } })
    const run = new AbortController()
    const call = callTo(fakes, 'hang', {}, { signal: run.signal })
    await sleep(5)
    run.abort()
    expect(await call).toMatchObject({ outcome: 'aborted' })
    expect(await callTo(fakes, 'cancelled')).toMatchObject({ value: '2' })
  })

  test('fails only the call whose result is too long', async () => {
    const [giant, echo] = await Promise.all([
      callTo(fakes, 'grow', { length: 3_000_000 }),
      callTo(fakes, 'echo', { message: 'hi' }),
    ])
    expect(giant.error?.message).toMatch(/more than 100000 bytes/)
    expect(seen(echo)).toBe('said hi')
  })

  test('disables only the tool whose definition it changes', async () => {
    const changing = await connected({ transport: fake() })
    await callTo(changing, 'change')
    const { error } = await callTo(changing, 'echo', { message: 'hi' })
    expect(error).toMatchObject({ code: 'mcp-definition-changed' })
    expect(error?.message).toContain('"echo" has changed')
    expect(error?.hint).toMatch(/accept: \{ "echo": "sha256-/)
    expect((await callTo(changing, 'structured')).outcome).toBe('ok')
    expect(toolOf(changing, 'echo').description).toBe('Says it again.')
  })
})

describe('a server process', () => {
  test('that is missing, that ends and that is silent have different errors', async () => {
    await expect(
      connected({ transport: { type: 'stdio', command: '/nowhere/server' }, ...short }),
    ).rejects.toMatchObject({ code: 'mcp-start-failed', message: expect.stringContaining('ENOENT') })
    await expect(connected({ transport: fake('exit'), ...short })).rejects.toMatchObject({
      code: 'mcp-closed',
      message: expect.stringMatching(/ended with code 2, and its last words were: no licence/),
    })
    await expect(connected({ transport: fake('silent'), connectTimeoutMs: 300 })).rejects.toMatchObject({
      code: 'mcp-timeout',
      message: expect.stringMatching(/did not answer within 300 ms/),
    })
  })

  test('that dies fails the running call and all later ones with its exit', async () => {
    const mortal = await connected({ transport: fake() })
    const [hanging, died] = await Promise.all([callTo(mortal, 'hang'), callTo(mortal, 'die')])
    for (const { error } of [hanging, died, await callTo(mortal, 'echo', { message: 'hi' })])
      expect(error).toMatchObject({
        code: 'mcp-closed',
        message: expect.stringMatching(/ended with code 3, and its last words were: out of \[1mmemory/),
        hint: 'Connect again with mcpTools().',
      })
  })

  test('ends with close, with all its children, also if it refuses', async () => {
    const stubborn = await connected({ transport: fake('stubborn') })
    const child = Number((await callTo(stubborn, 'orphan')).value)
    expect(await lives(child)).toBe(true)
    await Promise.all([stubborn.close(), stubborn[Symbol.asyncDispose]()])
    // On a busy machine a killed process may take a moment to end.
    await expect.poll(() => lives(child)).toBe(false)
    expect((await callTo(stubborn, 'echo', { message: 'hi' })).error?.code).toBe('mcp-closed')
  })
})
