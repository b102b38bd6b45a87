import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'

import { expect, test, vi } from 'vitest'

import { discardKeys } from '../src/typed-keys.ts'
import { folder } from './desk-command.ts'

test('earlier input is discarded, and a Ctrl-C in it is handled', async () => {
  vi.useFakeTimers()
  const modes: boolean[] = []
  const input = Object.assign(new PassThrough(), { isRaw: false, setRawMode: (raw: boolean) => modes.push(raw) })
  const interrupted = vi.fn()
  input.write('yes\n')
  const discarded = discardKeys(input, interrupted)
  await vi.advanceTimersByTimeAsync(50)
  input.write('y\u0003')
  await vi.advanceTimersByTimeAsync(59)
  input.write('es\n')
  await vi.advanceTimersByTimeAsync(60)
  expect(await discarded).toBe(true)
  expect([input.read(), modes, interrupted.mock.calls.length]).toEqual([null, [true, false], 1])
  vi.useRealTimers()
})

test('continuous key presses are not an answer', async () => {
  vi.useFakeTimers()
  const input = new PassThrough()
  const discarded = discardKeys(input, () => {})
  const held = setInterval(() => input.write('y'), 30)
  await vi.advanceTimersByTimeAsync(2_100)
  clearInterval(held)
  expect(await discarded).toBe(false)
  vi.useRealTimers()
})

test('a yes that was typed before the question approves nothing', async (ctx) => {
  ctx.skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  if (spawnSync('script', ['-qec', 'true', '/dev/null'], { input: '' }).status !== 0) {
    ctx.skip('script of util-linux is not installed')
  }
  const main = join(import.meta.dirname, '../src/main.ts')
  const args = ['--conditions=@provost/source', main, '--data', folder(), '--only', '06-csv-attachment.eml', '--text']
  const command = [process.execPath, ...args].map((arg) => `'${arg}'`).join(' ')
  const env = { PATH: process.env['PATH'], OLLAMA_HOST: 'http://127.0.0.1:1', TERM: 'xterm' }
  const child = spawn('script', ['-qec', command, '/dev/null'], { env })
  child.stdin.write('yes\ny\nyes')
  let out = ''
  let asked = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (asked || !out.includes('Yes, no or later?')) return
    asked = true
    child.stdin.write('no\r')
  })
  await new Promise((resolve) => child.once('close', resolve))
  expect(out).toContain('deny by the terminal')
  expect(out).not.toContain('approve by the terminal')
  expect(out).toMatch(/write.*"orderId":"?1050/u)
})
