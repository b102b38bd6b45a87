import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'

import { afterAll, expect, test } from 'vitest'

import { desk, deskFile, ended, full, makePlace } from './provost-command.ts'

const place = makePlace()
afterAll(() => place.remove())

/** Sends a request to the MCP server of a process, and returns its result. */
function mcpClient(child: ReturnType<typeof place.start>) {
  const answers = new Map<number, (message: { result: unknown }) => void>()
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line)
      answers.get(message.id)?.(message)
    })
  }
  let last = 0
  return (method: string, params: object) => {
    const id = ++last
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return new Promise((resolve) => answers.set(id, ({ result }) => resolve(result)))
  }
}

test.skipIf(!full)(
  'mcp serves agents over stdio; a decision of another process continues a suspended call',
  async () => {
    const child = place.start(['mcp', deskFile, '--store', 'mcp.db'])
    const end = ended(child)
    const request = mcpClient(child)
    await request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    expect(await request('tools/list', {})).toMatchObject({
      tools: [
        { name: 'clerk', description: 'Asks the agent clerk.' },
        { name: 'desk', description: 'Refunds orders.' },
      ],
    })
    const first = await request('tools/call', { name: 'desk', arguments: { input: 'refund it' } })
    const text = JSON.stringify(first)
    expect(text).toContain('It waits for a human: refund (refund needs approval)')
    const [, sessionId = ''] = /\(session ([\w-]+)/.exec(text) ?? []

    expect(await place.provost('approve', sessionId, '--store', 'mcp.db')).toMatchObject({ code: 0 })
    const second = await request('tools/call', { name: 'desk', arguments: { input: 'And now?', sessionId } })
    expect(JSON.stringify(second)).toContain('The refund is settled.')
    child.stdin?.end()
    expect((await end).code).toBe(0)
  },
)

test.skipIf(!full)(
  'dev serves the agents, restarts when the file changes, and continues a run that another process approved',
  async () => {
    const file = join(place.folder, 'served.ts')
    const source = `import { desk } from ${JSON.stringify(deskFile)}\nexport const served = desk\n`
    writeFileSync(file, source)
    const child = place.start(['dev', file, '--port', '0', '--store', 'dev.db', '--json'])
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
    const served = () => out.split('\n').flatMap((line) => (line.startsWith('{"url"') ? [JSON.parse(line)] : []))
    try {
      await expect.poll(() => served().length).toBe(1)
      // The console's token, which the restarts keep.
      const tokenOf = ({ consoleUrl }: { consoleUrl: string }): string => new URL(consoleUrl).hash.slice('#t='.length)
      const authorization = `Bearer ${tokenOf(served()[0])}`
      expect((await fetch(`${served()[0].url}/api/agent/sessions`)).status).toBe(401)
      const response = await fetch(`${served()[0].url}/api/agent/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: JSON.stringify({ input: 'refund it' }),
      })
      expect(await response.text()).toContain('"status":"suspended"')

      writeFileSync(file, `${source}export { clerk } from ${JSON.stringify(deskFile)}\n`)
      // One change may be noticed twice: each start takes another free port.
      await expect.poll(() => served().at(-1).agents.toSorted()).toEqual(['clerk', 'desk'])

      const rows = await place.provost('runs', '--store', 'dev.db', '--json')
      const { id, waits } = JSON.parse(rows.out)
      expect(waits).toBe(1)
      expect(await place.provost('approve', id, '--store', 'dev.db')).toMatchObject({ code: 0 })
      const events = await fetch(`${served().at(-1).url}/api/agent/session/${id}/events`, {
        headers: { authorization },
      })
      expect(await events.text()).toContain('The refund is settled.')
    } finally {
      const end = ended(child)
      child.kill('SIGTERM')
      await end
    }
  },
)

test.skipIf(!full)('doctor names what is there and what is missing, without the values of keys', async () => {
  const env = { ANTHROPIC_API_KEY: 'sk-secret-value', PROVOST_STORE: 'doctor.db' }
  await place.provost('run', `${deskFile}#clerk`, 'hello', '--store', 'doctor.db')
  const { code, out } = await place.provostWith(env, 'doctor', '--json')
  const findings = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(findings.slice(0, 5)).toEqual([
    { check: 'runtime', status: 'ok', text: expect.stringContaining(`Node ${process.versions.node}`) },
    { check: 'sqlite', status: 'ok', text: expect.stringMatching(/^SQLite 3\./) },
    { check: 'threads', status: 'ok', text: expect.any(String) },
    { check: 'store', status: 'ok', text: 'doctor.db can be read and written' },
    { check: 'clock', status: 'ok', text: expect.any(String) },
  ])
  expect(findings.at(-1)).toMatchObject({ text: 'anthropic without its package: ANTHROPIC_API_KEY is set' })
  expect(out).not.toContain('sk-secret')
})

test.skipIf(!full)('doctor fails for a store that cannot be opened', async () => {
  writeFileSync(join(place.folder, 'text.db'), 'This is no database, and long enough to look like one.'.repeat(100))
  const { code, out } = await place.provost('doctor', '--store', 'text.db')
  expect(code).toBe(1)
  expect(out).toMatch(/^failed +store /m)
})

for (const [typed, code, shown] of [
  ['yes', 0, 'The refund is settled.'],
  ['y', 3, 'provost approve asked-y '],
] as const) {
  test(`on a terminal the answer ${typed} to the question ends the run with exit code ${code}`, async (ctx) => {
    ctx.skip(!full && typed === 'y', 'in full runs')
    if (spawnSync('script', ['--version']).error) ctx.skip('script of util-linux is not installed')
    const run = `run "$DESK" "refund it" --session asked-${typed} --store tty.db`
    const command = `"${process.execPath}" --conditions=@provost/source "$PROVOST" ${run}; echo "code $?"`
    const child = place.inTerminal(command, { DESK: desk })
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
    const end = ended(child)
    await expect.poll(() => out).toContain('yes, no or later: ')
    child.stdin?.write(`${typed}\n`)
    await end
    expect(out).toContain(shown)
    expect(out).toContain(`code ${code}`)
  })
}

test.skipIf(!full)(
  'on a terminal one answer decides all calls of a step, without the one whose number it denies',
  async (ctx) => {
    if (spawnSync('script', ['--version']).error) ctx.skip('script of util-linux is not installed')
    const refunds = join(place.folder, 'refunds-of-both')
    const run = 'run "$DESK" "both of them" --session asked-both --store tty.db'
    const child = place.inTerminal(`"${process.execPath}" --conditions=@provost/source "$PROVOST" ${run}`, {
      DESK: desk,
      REFUNDS: refunds,
    })
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
    const end = ended(child)
    await expect.poll(() => out).toContain('Approve all 2? ')
    child.stdin?.write('no 2\n')
    await end
    expect(out).toContain('Both are settled.')
    expect(readFileSync(refunds, 'utf8')).toBe('17\n')
  },
)

test.skipIf(!full)('a call that its process died in waits until it is settled', async () => {
  const file = join(place.folder, 'sent')
  const child = place.start(['run', desk, 'send it', '--session', 'died', '--store', 'died.db'], { SENT: file })
  const end = ended(child)
  await expect.poll(() => existsSync(file)).toBe(true)
  child.kill('SIGKILL')
  await end
  const resumed = await place.provostWith({ SENT: file }, 'resume', 'died', deskFile, '--store', 'died.db')
  expect(resumed.code).toBe(3)
  const [, call = ''] = /provost settle died (\S+) done\|retry\|fail/.exec(resumed.err) ?? []
  const settled = await place.provost('settle', 'died', call, 'done', '--agent', deskFile, '--store', 'died.db')
  expect(settled).toMatchObject({ code: 0, out: expect.stringContaining('It was sent.') })
  expect(readFileSync(file, 'utf8')).toBe('sent\n')
})
