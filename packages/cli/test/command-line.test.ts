import { afterAll, describe, expect, test } from 'vitest'

import type { Command } from '../src/command/command.ts'
import { helpOf } from '../src/command/help.ts'
import { parseCommandLine } from '../src/command/parse-command-line.ts'
import { commands } from '../src/commands/command-table.ts'
import { deskFile, full, makePlace } from './provost-command.ts'
import type { Ended } from './provost-command.ts'

const place = makePlace()
afterAll(() => place.remove())

test('--help lists every command and the exit codes', async () => {
  const { code, out } = await place.provost('--help')
  expect(code).toBe(0)
  for (const { name, summary } of commands) expect(out).toContain(`${name.padEnd(7)}  ${summary}`)
  expect(out).toContain('3  the run is suspended')
})

test('without a command the help is shown, and --version prints the version', async () => {
  const [bare, version] = await Promise.all([place.provost(), place.provost('--version')])
  expect(bare.out).toContain('Usage: provost COMMAND')
  expect(version).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' })
})

const parsed = commands.filter((command): command is Command => !('readsArguments' in command))

test.each(parsed)('$name --help shows its arguments, options and examples', async (command) => {
  // By default one of them is a process.
  const asked = full || command === parsed[0] ? await place.provost(command.name, '--help') : undefined
  expect(asked?.code ?? 0).toBe(0)
  const out = asked?.out ?? helpOf(command)
  expect(out).toContain(`Usage: provost ${command.name}`)
  for (const name of [...Object.keys(command.options), 'json', 'help']) expect(out).toContain(`  --${name}`)
  for (const { name } of command.arguments) expect(out).toContain(`  ${name} `)
  for (const example of command.examples) expect(out).toContain(`  provost ${example}`)
})

test.skipIf(!full)('policy has the help and the exit codes of policyCommand', async () => {
  const [help, missing] = await Promise.all([
    place.provost('policy', '--help'),
    place.provost('policy', 'test', 'missing.jsonl', '--policy', deskFile),
  ])
  expect(help).toMatchObject({ code: 0, out: expect.stringContaining('policy test LOG… --policy FILE') })
  expect(missing.code).toBeGreaterThan(1)
})

/** Makes Node write the address of each module that it loads to stderr. */
const traced = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  import { writeSync } from 'node:fs'
  registerHooks({ load: (url, context, next) => (writeSync(2, url + '\\n'), next(url, context)) })
`)}`

test('--help and --version load no package of the runtime', async () => {
  const env = { NODE_OPTIONS: traced }
  const [help, ofPolicy, version, real] = await Promise.all([
    place.provostWith(env, 'run', '--help'),
    place.provostWith(env, 'policy', '--help'),
    place.provostWith(env, '--version'),
    place.provostWith(env, 'show', 's1'),
  ])
  // The check of Node and the help of policy are one file each.
  const packagesIn = (text: string) =>
    new Set(
      [...text.matchAll(/\/packages\/(\w+)\/(?!src\/(?:host\/supported-node|offline\/policy-usage))/g)].map(
        ([, name]) => name,
      ),
    )
  expect(packagesIn(help.err)).toEqual(new Set(['provost', 'cli']))
  expect(ofPolicy).toMatchObject({ code: 0, out: expect.stringContaining('policy test LOG… --policy FILE') })
  expect(packagesIn(ofPolicy.err)).toEqual(new Set(['provost', 'cli']))
  expect(packagesIn(version.err)).toEqual(new Set(['provost', 'cli']))
  expect([help.err, version.err].join('')).not.toContain('node_modules')
  expect(packagesIn(real.err)).toContain('agent')
})

/** How a command line ends. By default most of them are only parsed, by this process. */
async function outcomeOf(args: readonly string[]): Promise<Ended> {
  const command = parsed.find(({ name }) => name === args[0])
  if (full || !command || args.length === 1) return place.provost(...args)
  const parsing = parseCommandLine(command, args.slice(1))
  return parsing.then(
    () => ({ code: 0, out: '', err: '' }),
    ({ code, message, hint }) => ({ code: 2, out: '', err: `${code}: ${message} ${hint}` }),
  )
}

describe('an invalid command line ends with exit code 2', () => {
  test.each([
    [['shwo', 's1'], 'Unknown command shwo.', 'Did you mean show?'],
    [['show'], 'The argument SESSION is missing.', 'provost show --help'],
    [['show', 's1', 's2'], 'Unexpected argument', 'provost show --help'],
    [['show', 's1', '--ful'], 'Unknown option --ful.', 'Did you mean --full?'],
    [['show', 's1', '--store', '--json'], '--store needs a value: --store STORE.', 'provost show --help'],
    [['show', 's1', '--full=yes'], '--full takes no value.', ''],
    [['show', 's1', '--full', '--full'], '--full is given twice.', ''],
    [['runs', '--limit', 'many'], '--limit is a whole number from 1 to 10000', ''],
    [['runs', '--status', 'done'], '--status is idle, running,', ''],
    [['settle', 's1', 'c1', 'maybe'], 'OUTCOME is done, retry, fail, not', ''],
  ])('%j', async (args, message, hint) => {
    const { code, out, err } = await outcomeOf(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('invalid-usage')
    expect(err).toContain(message)
    expect(err).toContain(hint)
  })
})

test.skipIf(!full)('with --json an error is a JSON line on stderr', async () => {
  const { code, out, err } = await place.provost('show', 's1', '--json')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(JSON.parse(err)).toMatchObject({ error: { code: 'no-store', hint: expect.stringContaining('--store') } })
})

test.skipIf(!full)('the password of a store is not printed', async () => {
  const { code, err } = await place.provost('runs', '--store', 'mysql://ann:secret@db.example/desk?password=secret')
  expect(code).toBe(1)
  expect(err).toContain('mysql://db.example/desk')
  expect(err).not.toContain('secret')
})
