import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { auditLog } from '@provost/governance'
import { policyCommand } from '@provost/governance/policy-command'
import type { PolicyCommandOptions } from '@provost/governance/policy-command'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { full } from '../fixture/full.ts'
import { inbox, mailTo, record } from './recorded.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`fixture/${name}.ts`, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'provost-policy-'))
const file = (name: string): string => join(folder, name)

async function run(argv: readonly string[], options: PolicyCommandOptions = {}) {
  let output = ''
  const code = await policyCommand(argv, { ...options, print: (piece) => void (output += piece) })
  return { code, output }
}

beforeAll(async () => {
  const steps = [inbox, mailTo('ann@example.com'), mailTo('eve@away.example')]
  const { exported } = await record(steps, { extensions: [auditLog({ key: 'k' })] })
  writeFileSync(file('run.jsonl'), exported)
  writeFileSync(file('cut.jsonl'), exported.slice(0, -400))
  const bare = exported.trimEnd().split('\n').slice(2, -1)
  writeFileSync(
    file('forged.jsonl'),
    bare.map((line) => line.replace('"by":"data-flow-policy"', '"by":"another"')).join('\n'),
  )
})
afterAll(() => rmSync(folder, { recursive: true }))

test('the policy of the record passes, with a coverage of its rules and no values', async () => {
  const { code, output } = await run(['test', file('run.jsonl'), '--policy', fixture('today'), '--fail-on', 'any'])
  expect(code).toBe(0)
  expect(output).toContain('2 calls in 1 session: 2 unchanged')
  expect(output).toContain('argument-origin: 2, 1, 1, 1')
  expect(output).toContain('fetched-address: 2, 0, 0, 0  (never hit)')
  expect(output).not.toContain('eve@away.example')
})

test('a policy that allows what a human refused fails; values are shown on request', async () => {
  const args = ['test', file('run.jsonl'), '--policy', fixture('mistake'), '--fail-on', 'tightened']
  const { code, output } = await run(args)
  expect(code).toBe(1)
  expect(output).toContain('now-allows-human-refused: clerk → send_email (refused by onApproval)')
  expect(output).toContain('ask by argument-origin → allow')
  expect(output).not.toContain('eve@away.example')
  expect((await run([...args, '--values'])).output).toContain('eve@away.example')
})

test('the result is JSON on request, without values', async () => {
  const args = ['test', file('run.jsonl'), '--policy', fixture('mistake'), '--json']
  const { output } = await run(args)
  const { calls, ok } = JSON.parse(output)
  expect(ok).toBe(false)
  expect(calls[1]).toMatchObject({
    change: 'now-allows-human-refused',
    arguments: [{ path: '/to', role: 'destination', origin: 'prose' }, { path: '/body' }],
  })
  expect(output).not.toContain('eve@away.example')
  const shown = JSON.parse((await run([...args, '--values'])).output)
  expect(shown.calls[1].arguments[0].value).toBe('eve@away.example')
})

test('another policy file is the measure with --against', async () => {
  const args = ['test', file('run.jsonl'), '--policy', fixture('today'), '--against', fixture('mistake')]
  expect((await run(args)).code).toBe(0)
  expect((await run([...args, '--fail-on', 'tightened'])).code).toBe(1)
})

test.for(['today', 'named'])(
  'a file in another language becomes the first rule, with the agents of a file: %s',
  async (agents) => {
    writeFileSync(file('house.rules'), 'deny send_email')
    const formats: PolicyCommandOptions['formats'] = {
      '.rules': (rules, tools) => {
        expect(tools.map(({ name }) => name)).toContain('send_email')
        return ({ call }) => (rules === `deny ${call.tool.name}` ? { deny: 'No mail.' } : undefined)
      },
    }
    const args = ['test', file('run.jsonl'), '--policy', file('house.rules'), '--agents', fixture(agents)]
    const { code, output } = await run([...args, '--fail-on', 'tightened'], { formats })
    expect(code).toBe(1)
    expect(output).toContain('2 tightened')
  },
)

test('a report counts the questions of the record; judged by a policy, those that it would ask', async () => {
  const { code, output } = await run(['report', file('run.jsonl')])
  expect(code).toBe(0)
  expect(output).toContain('1 run in 1 session: 1 question (0 approved, 1 refused), 0 denials')
  expect(output).toContain('argument-origin, send_email, destination from prose: 1 question')
  expect(output).not.toContain('eve@away.example')
  const none = await run(['report', file('run.jsonl'), '--policy', fixture('mistake')])
  expect(none.output).toContain('0 questions')
})

test.for([
  ['a log that does not exist', ['test', 'nowhere.jsonl', '--policy', fixture('today')], 2],
  ['a log without its end', ['test', file('cut.jsonl'), '--policy', fixture('today')], 2],
  ['a log with a broken audit', ['test', file('forged.jsonl'), '--policy', fixture('today')], 2],
  ['a policy file that does not exist', ['test', file('run.jsonl'), '--policy', 'nowhere.ts'], 3],
  ['a policy with an unknown option', ['test', file('run.jsonl'), '--policy', fixture('invalid')], 3],
  [
    'a file of agents without one',
    ['test', file('run.jsonl'), '--policy', fixture('today'), '--agents', fixture('no-agent')],
    3,
  ],
  ['a policy in an unknown language', ['test', file('run.jsonl'), '--policy', file('run.jsonl')], 3],
  ['no policy', ['test', file('run.jsonl')], 3],
  ['no log', ['test', '--policy', fixture('today')], 3],
  ['an unknown flag', ['test', file('run.jsonl'), '--polcy', fixture('today')], 3],
  ['an unknown change', ['test', file('run.jsonl'), '--policy', fixture('today'), '--fail-on', 'x'], 3],
  ['no command', [], 3],
  ['--help', ['--help'], 0],
] as const)('%s', async ([, argv, expected]) => {
  const { code, output } = await run(argv, { auditKey: 'k' })
  expect(output).not.toBe('')
  expect(code).toBe(expected)
})

test('the command is a program, whose exit code is the result', async () => {
  const program = fileURLToPath(new URL('../../../provost/bin/provost.js', import.meta.url))
  const start = async (policy: string) => {
    const argv = [
      '--conditions=@provost/source',
      program,
      'policy',
      'test',
      file('run.jsonl'),
      '--policy',
      fixture(policy),
    ]
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
    const code = new Promise((resolve) => child.once('close', resolve))
    return { output: await text(child.stdout), code: await code }
  }
  const today = { code: 0, output: expect.stringContaining('passed') }
  const mistake = { code: 1, output: expect.stringContaining('FAILED') }
  const ends = await Promise.all((full ? ['today', 'mistake'] : ['mistake']).map(start))
  expect(ends).toMatchObject(full ? [today, mistake] : [mistake])
})
