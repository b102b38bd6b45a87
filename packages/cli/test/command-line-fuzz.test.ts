import { ProvostError } from '@provost/core'
import * as fc from 'fast-check'
import { test } from 'vitest'

import type { Command } from '../src/command/command.ts'
import { parseCommandLine } from '../src/command/parse-command-line.ts'
import { commands } from '../src/commands/command-table.ts'

const parsed = commands.filter((command): command is Command => !('readsArguments' in command))
const options = [...new Set(parsed.flatMap((command) => Object.keys(command.options)))]
const word = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom(
    '-',
    '--',
    '-1',
    '0',
    '1e9',
    '--json',
    '-h',
    '--no-json',
    '--constructor',
    '--__proto__=x',
    '\u0000',
    '👋',
  ),
  fc.constantFrom(...options).map((name) => `--${name}`),
  fc.tuple(fc.constantFrom(...options), fc.string({ maxLength: 5 })).map(([name, value]) => `--${name}=${value}`),
)

test('any arguments are a command line, or a usage error that says what to do', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...parsed), fc.array(word, { maxLength: 6 }), async (command, args) => {
      try {
        const line = await parseCommandLine(command, args)
        if (line.help) return true
        const { argument } = line.given
        return command.arguments.every(({ name, optional }) => optional === true || args.includes(argument(name)))
      } catch (error) {
        if (!(error instanceof ProvostError) || error.code !== 'invalid-usage' || !error.hint) throw error
        return true
      }
    }),
  )
})
