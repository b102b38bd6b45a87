import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Ended } from './provost-command.ts'
import { desk, deskFile, ended, full, makePlace } from './provost-command.ts'

/** What a command wrote as JSON lines. */
const linesOf = (of: Ended | undefined) =>
  (of?.out ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const place = makePlace()
const refunds = join(place.folder, 'refunds')
const records = { REFUNDS: refunds }
const made = (): readonly string[] => readFileSync(refunds, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1)
afterAll(() => place.remove())

/** Runs of the sessions `later`, `booked`, `both` and `mail`. By default only of the first two. */
let runs: readonly Ended[] = []
beforeAll(async () => {
  const all = [
    ['run', desk, 'refund it', '--session', 'later'],
    ['run', desk, 'book it', '--session', 'booked', '--json'],
    ['run', desk, 'both of them', '--session', 'both'],
    ['run', desk, 'read the mail', '--session', 'mail'],
  ]
  runs = await Promise.all(all.slice(0, full ? 4 : 2).map((args) => place.provost(...args)))
})

test('run ends with exit code 0, or 3 if it waits for an answer', () => {
  expect(runs.map(({ code }) => code)).toEqual(full ? [3, 0, 3, 0] : [3, 0])
})

test.skipIf(!full)('run writes the answer to stdout, and what happened to stderr', async () => {
  const { code, out, err } = await place.provost('run', `${deskFile}#clerk`, 'hello')
  expect({ code, out }).toEqual({ code: 0, out: 'Hello from the clerk.\n' })
  expect(err).toMatch(/^completed .*\nsession \S+\n$/)
})

test('run --json writes events, one a line, until the end of the run', () => {
  const events = linesOf(runs[1])
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  expect(events[0]).toMatchObject({ type: 'agent.start', sessionId: 'booked' })
  expect(events.at(-1)).toMatchObject({ type: 'agent.end', status: 'completed' })
})

test.skipIf(!full)('a run that fails ends with exit code 1 and the error on stderr', async () => {
  const { code, out, err } = await place.provost('run', desk, 'fail')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain('The model is down.')
  expect(err).toContain('provost resume ')
  expect(err).not.toContain('\u001b')
})

test('a call that another process approves runs once, when the session is resumed', async () => {
  expect(runs[0]?.err).toMatch(/provost approve later \S+approval\/1\n/)
  const approved = await place.provost('approve', 'later', '--by', 'ann')
  expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('Approved: refund (write)') })
  expect(approved.err).toContain('provost resume later FILE')
  expect(made()).toEqual([])
  const again = full ? await place.provost('deny', 'later') : { code: 1, err: 'In full runs: already-decided.' }
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('already-decided') })

  const resumed = await place.provostWith(records, 'resume', 'later', deskFile)
  expect({ code: resumed.code, out: resumed.out }).toEqual({ code: 0, out: 'The refund is settled.\n' })
  expect(made()).toEqual(['17'])
  expect(resumed.err).toContain('refund: approve by ann')
})

test.skipIf(!full)(
  'of several questions one must be named; a denial has a reason, and --agent resumes at once',
  async () => {
    const open = await place.provost('approve', 'both')
    expect(open).toMatchObject({ code: 1, err: expect.stringContaining('has 2 open questions') })
    const [first = '', second = ''] = open.err.match(/\S+\/approval\/1/g) ?? []
    const denied = await place.provost('deny', 'both', second, '--reason', 'Over the limit', '--json')
    expect(JSON.parse(denied.out)).toMatchObject({ sessionId: 'both', id: second, decision: 'deny' })

    const before = made().length
    const { code, out, err } = await place.provostWith(
      records,
      'approve',
      'both',
      first.replace(/,$/, ''),
      '--agent',
      deskFile,
    )
    expect(code).toBe(0)
    expect(out).toContain('Both are settled.')
    expect(made().slice(before)).toEqual(['17'])
    expect(err).toContain('Over the limit')
  },
)

test.skipIf(!full)('several questions of one step are answered by one command with the id of their batch', async () => {
  await place.provost('run', desk, 'both', '--session', 'together')
  const shown = await place.provost('show', 'together')
  const [, batch = ''] = /provost approve together (\S+\/batch\/1)/.exec(shown.out + shown.err) ?? []
  const unnamed = await place.provost('deny', 'together')
  expect(unnamed.err).toContain(`or of all 2 that were asked together: ${batch}`)
  const before = made().length
  const done = await place.provostWith(records, 'approve', 'together', batch, '--agent', deskFile)
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining('Both are settled.') })
  expect(made().slice(before)).toEqual(['17', '18'])
})

test('a fork continues with a policy and instructions that the file of its agent offers', async () => {
  const logged = linesOf(await place.provost('export', 'later'))
  const { offset } = logged.find(({ entry }) => entry?.type === 'message' && entry.via === 'model').entry
  const fork = ['fork', 'later', '--at', String(offset), '--continue', '--json']
  const [strict, none] = await Promise.all([
    place.provost(...fork, '--policy', 'strict', '--prompt', 'brief'),
    place.provost(...fork, '--policy', 'none'),
  ])
  const id = (of: Ended): string => linesOf(of)[0].sessionId
  const [denied, unknown] = await Promise.all([
    place.provost('resume', id(strict), deskFile),
    place.provost('resume', id(none), deskFile),
  ])
  expect({ code: denied.code, out: denied.out }).toEqual({ code: 0, out: 'The refund is settled.\n' })
  expect(denied.err).toContain('refund is not allowed with these arguments')
  expect(unknown.code).not.toBe(0)
  expect(unknown.err).toContain('The fork has the policy "none", which this process does not offer.')
  const beyond = await place.provost('fork', 'later', '--at', '999999')
  expect(beyond).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`forkSession got 999999 as "at"`) })
  const both = await place.provost(...fork, '--prompt', 'brief', '--prompt-text', 'Answer in verse.')
  expect(both.code).toBe(1)
  expect(both.err).toContain('of forkSession have ')
})

test.skipIf(!full)(
  'a run whose agent changed is resumed once the change is accepted, and show tells what changed',
  async () => {
    await place.provost('run', desk, 'refund it', '--session', 'changed')
    const later = { ...records, RELEASE: '2' }
    const [same, shown] = await Promise.all([
      place.provost('show', 'changed', '--agent', deskFile),
      place.provostWith(later, 'show', 'changed', '--agent', deskFile),
    ])
    expect(same.out).toContain('none since the last run began')
    const change = 'Agent desk changed since its run began: version none is now 2.'
    expect(shown.out).toContain(`${change} Resume it with: provost resume changed ${deskFile} --accept-changes`)

    const before = made().length
    const refused = await place.provostWith(later, 'approve', 'changed', '--agent', deskFile)
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(change) })
    expect(refused.err).toContain('--accept-changes')
    expect(made().length).toBe(before)

    const accepted = await place.provostWith(later, 'resume', 'changed', deskFile, '--accept-changes')
    expect(accepted).toMatchObject({ code: 0, out: 'The refund is settled.\n' })
    expect(made().slice(before)).toEqual(['17'])
  },
)

test.skipIf(!full)('runs lists the sessions of the store, and what waits', async () => {
  const [all, failed] = await Promise.all([
    place.provost('runs', '--json'),
    place.provost('runs', '--status', 'failed', '--limit', '1'),
  ])
  const rows = linesOf(all)
  expect(rows.find(({ id }) => id === 'booked')).toMatchObject({
    status: 'idle',
    agent: 'desk',
    principal: 'local',
    waits: 0,
  })
  expect(rows.map(({ updatedAt }) => updatedAt)).toEqual(
    rows.map(({ updatedAt }) => updatedAt).toSorted((a, b) => b - a),
  )
  expect(failed.out).toMatch(/^SESSION +STATUS +AGENT +PRINCIPAL +AGE +WAITS\n\S+ +failed +desk +local +\d+\w\n$/)
})

test.skipIf(!full)('show marks untrusted text with its source, and no text controls the terminal', async () => {
  const [text, json] = await Promise.all([place.provost('show', 'mail'), place.provost('show', 'mail', '--json')])
  const run = runs[3]
  expect(text.out).toContain('✓ mail [untrusted: mail] Hello ')
  expect(text.out).toContain(String.raw`\u001b[2J\u001b]0;owned\u0007 \u009b31m \u202etxt.exe \u200b\u2028 end`)
  for (const shown of [text.out, json.out, run?.out, run?.err]) {
    expect(shown).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]/u)
  }
  const results = linesOf(json).filter(({ type }) => type === 'tool.execute.end')
  expect(results[0].output.value).toContain('\u001b[2J\u001b]0;owned\u0007 \u009b31m \u202e')
})

test.skipIf(!full)('a session is exported, verified, imported as an untrusted record, and replayed', async () => {
  const exported = await place.provost('export', 'booked')
  const file = join(place.folder, 'booked.jsonl')
  writeFileSync(file, exported.out)
  const changed = join(place.folder, 'changed.jsonl')
  writeFileSync(changed, exported.out.replaceAll('"confirmed"', '"impossible"'))
  const [intact, tampered, fromStore, imported, replayed, outside] = await Promise.all([
    place.provost('verify', file),
    place.provost('verify', changed),
    place.provost('verify', 'booked', '--json'),
    place.provost('import', file, '--id', 'copy'),
    place.provost('replay', 'booked', deskFile),
    place.provost('export', 'booked', '--for', 'outside', '--output', 'outside.jsonl'),
  ])
  expect(intact).toMatchObject({ code: 0, out: expect.stringMatching(/^Valid: [1-9]\d* links/) })
  expect(tampered).toMatchObject({ code: 1, err: expect.stringContaining('audit-invalid') })
  expect(JSON.parse(fromStore.out)).toMatchObject({ ok: true, problems: [] })
  expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('labelled untrusted') })
  expect(replayed).toMatchObject({ code: 0, out: expect.stringMatching(/^Same: \d+ entries\.\n$/) })
  expect(outside.code).toBe(0)
  expect(readFileSync(join(place.folder, 'outside.jsonl'), 'utf8')).not.toContain('principal')
})

test.skipIf(!full)('a replay with another agent names the first difference', async () => {
  const { code, err } = await place.provost('replay', 'booked', deskFile.replace('desk.ts', 'one-step.ts'))
  expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('replay-differs') })
})

test.skipIf(!full)('a run whose process was killed is resumed, and repeats only what may be repeated', async () => {
  const looks = join(place.folder, 'looks')
  const count = (): number => readFileSync(looks, { encoding: 'utf8', flag: 'a+' }).split('\n').length - 1
  const hanging = place.start(['run', desk, 'look here', '--session', 'killed'], { LOOKS: looks, HANG: '1' })
  const end = ended(hanging)
  await expect.poll(count).toBe(1)
  hanging.kill('SIGKILL')
  expect((await end).code).toBe(null)

  const { code, out, err } = await place.provostWith({ LOOKS: looks }, 'resume', 'killed', deskFile)
  expect({ code, out }).toEqual({ code: 0, out: 'Seen.\n' })
  expect(err).toContain('resumed')
  expect(count()).toBe(2)
})
