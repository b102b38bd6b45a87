import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { testPolicy } from '@provost/governance'
import type { DataFlowPolicyOptions } from '@provost/governance'
import { cedarRule } from '@provost/policy-cedar'
import { exportSession, memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { agents } from './fixture/agents.ts'
import { mailTo, permit, refund, refundOf, runUnder, sendEmail } from './ruled.ts'

const limit = (cents: number): string => `//@counter refunded = sum(/cents) of refund per /customer
${permit}@id("limit") @decision("ask") forbid (principal, action == Action::"refund", resource)
when { context.counters.refunded + context.args.cents > ${cents} };`
const tools = [refund, sendEmail]
const policyOf = (policy: string): DataFlowPolicyOptions => ({ mode: 'enforce', rules: [cedarRule({ policy, tools })] })

/** Returns the export of a session that ran under a limit of 100. */
async function recorded(answer: 'approve' | 'deny'): Promise<string> {
  const store = memoryStore()
  const session = 'ann-17'
  const step = [refundOf(60), refundOf(60), refundOf(30, 'bob')]
  await runUnder(limit(100), [step, mailTo('ann@example.com')], { store, session, answer })
  await runUnder(limit(100), [refundOf(40), refundOf(70, 'bob')], { store, session, answer })
  let exported = ''
  for await (const line of exportSession(store, session)) exported += line
  return exported
}

test('the verdicts and counters of a Cedar policy are the same offline', async () => {
  for (const answer of ['approve', 'deny'] as const) {
    const { ok, calls } = await testPolicy([await recorded(answer)], {
      policy: policyOf(limit(100)),
      agents,
      failOn: 'any',
    })
    expect(ok).toBe(true)
    const later = answer === 'approve' ? 'ask' : 'allow'
    expect(calls.map(({ verdict }) => verdict.decision)).toEqual(['allow', 'ask', 'allow', 'allow', later, 'allow'])
  }
})

test('another limit is tested against the record', async () => {
  const exported = await recorded('deny')
  const changes = async (policy: string) => {
    const { calls } = await testPolicy([exported], { policy: policyOf(policy), agents })
    return calls.map(({ change }) => change)
  }
  expect(await changes(limit(50))).toEqual([
    ...['tightened', 'unchanged', 'unchanged', 'unchanged'],
    ...['tightened', 'tightened'],
  ])
  expect((await changes(limit(1000)))[1]).toBe('now-allows-human-refused')
})

test('the command reads .cedar files, and refuses those that do not fit the tools', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const folder = mkdtempSync(join(tmpdir(), 'provost-cedar-'))
  const log = join(folder, 'run.jsonl')
  writeFileSync(log, await recorded('deny'))
  const run = async (policy: string) => {
    const path = join(folder, 'house.cedar')
    writeFileSync(path, policy)
    const program = fileURLToPath(new URL('../../provost/bin/provost.js', import.meta.url))
    const fixture = fileURLToPath(new URL('fixture/agents.ts', import.meta.url))
    const argv = ['--conditions=@provost/source', program, 'policy', 'test', log, '--policy', path, '--agents', fixture]
    const cwd = fileURLToPath(new URL('..', import.meta.url))
    const child = spawn(process.execPath, argv, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = new Promise((resolve) => child.once('close', resolve))
    const output = await text(child.stdout)
    return { output, code: await closed }
  }
  try {
    expect(await run(limit(1000))).toMatchObject({
      code: 1,
      output: expect.stringContaining('now-allows-human-refused'),
    })
    expect(await run(limit(90))).toMatchObject({ code: 0, output: expect.stringContaining('passed') })
    expect(await run(limit(100).replace('args.cents', 'args.cent'))).toMatchObject({
      code: 3,
      output: expect.stringContaining('did you mean `cents`'),
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
