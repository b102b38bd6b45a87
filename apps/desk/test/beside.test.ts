import { spawn } from 'node:child_process'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { folder } from './desk-command.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

/** Starts the desk in a terminal of util-linux. */
function inTerminal(...args: readonly string[]): { out(): string; say(text: string): void; ended: Promise<number> } {
  const main = join(import.meta.dirname, '../src/main.ts')
  const command = [process.execPath, '--conditions=@provost/source', main, ...args].join(' ')
  const env = { PATH: process.env['PATH'], SHELL: '/bin/sh', OLLAMA_HOST: 'http://127.0.0.1:1' }
  const child = spawn('script', ['-qec', command, '/dev/null'], { env })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  return {
    out: () => out,
    say: (text) => void child.stdin.write(text),
    ended: new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code ?? -1))
    }),
  }
}

test.skipIf(!full)('at a terminal the console decides what the desk asks, and stays open until Ctrl-C', async () => {
  const desk = inTerminal('--data', folder(), '--model', 'offline')
  const address = (): RegExpExecArray | null =>
    /(http:\/\/127\.0\.0\.1:\d+)\/console\/tour#t=([\w-]+)/u.exec(desk.out())
  try {
    await expect.poll(desk.out).toContain('Yes, no or later?')
    // A first start builds the page meanwhile.
    expect(address()).not.toBeNull()
    const [, url = '', token = ''] = address() ?? []
    const ask = async (path: string, body?: unknown): Promise<Response> =>
      fetch(url + path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
    expect((await fetch(`${url}/console/`)).status).toBe(200)
    const { waits } = await (await ask('/api/console/waits')).json()
    const [{ id, sessionId, requester }] = waits
    expect(requester).toMatch(/^customer:/u)
    const approvals = [{ id, decision: 'approve' }]
    expect((await ask(`/api/agent/session/${sessionId}/approvals`, { approvals })).status).toBe(202)
    await expect.poll(desk.out).toContain('The console stays open.')
    const status = async (): Promise<unknown> => (await (await ask(`/api/agent/session/${sessionId}`)).json()).status
    await expect.poll(status).toBe('idle')
  } finally {
    desk.say('\u0003')
    await desk.ended
  }
  expect(await desk.ended).toBe(0)
})
