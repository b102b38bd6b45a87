import { parseArgs } from 'node:util'

import type { ArgumentSpec, Command, Invocation, OptionSpec } from './command.ts'
import { commonOptions } from './common-options.ts'
import { openTerminal } from './terminal.ts'
import { invalidUsage } from './usage-error.ts'

/** A command line without an error, or the request for help. */
export type CommandLine = { readonly help: true } | { readonly help: false; readonly given: Invocation }

/**
 * Parses the command line of one command.
 *
 * @throws ProvostError `invalid-usage`
 */
export async function parseCommandLine(command: Command, args: readonly string[]): Promise<CommandLine> {
  const options: Readonly<Record<string, OptionSpec>> = { ...command.options, ...commonOptions }
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value }]) => [name, { type: value ? 'string' : 'boolean' } as const]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values = new Map<string, string>()
  const flags = new Set<string>()
  const named = tokens.flatMap((token) => (token.kind === 'option' ? [token] : []))
  if (named.some(({ name, rawName }) => name === 'help' || rawName === '-h')) return { help: true }
  for (const { name, rawName, value, inlineValue } of named) {
    const spec = Object.hasOwn(options, name) && rawName.startsWith('--') ? options[name] : undefined
    if (!spec)
      throw await invalidUsage(command, `Unknown option ${rawName}.`, { given: name, known: Object.keys(options) })
    if (values.has(name) || flags.has(name)) throw await invalidUsage(command, `${rawName} is given twice.`)
    if (!spec.value) {
      if (value !== undefined) throw await invalidUsage(command, `${rawName} takes no value.`)
      flags.add(name)
    } else {
      // `--store --json` forgot a value, while `--store=--json` has one.
      const isForgotten = value === undefined || value === '' || (!inlineValue && value.startsWith('-'))
      if (isForgotten) throw await invalidUsage(command, `${rawName} needs a value: ${rawName} ${spec.value}.`)
      await checkValue(command, rawName, value, spec)
      values.set(name, value)
    }
  }
  const [excess] = positionals.slice(command.arguments.length)
  if (excess !== undefined) throw await invalidUsage(command, `Unexpected argument ${JSON.stringify(excess)}.`)
  for (const [index, spec] of command.arguments.entries()) {
    const value = positionals[index]
    if (value) {
      await checkValue(command, spec.name, value, spec)
      values.set(spec.name, value)
    } else if (!spec.optional) throw await invalidUsage(command, `The argument ${spec.name} is missing.`)
  }
  const value = (name: string): string | undefined => values.get(name)
  const given: Invocation = {
    argument: (name) => value(name) ?? '',
    value,
    number: (name) => (values.has(name) ? Number(value(name)) : undefined),
    flag: (name) => flags.has(name),
    terminal: openTerminal(flags.has('json')),
  }
  return { help: false, given }
}

async function checkValue(
  command: Command,
  name: string,
  value: string,
  { oneOf, range }: ArgumentSpec | OptionSpec,
): Promise<void> {
  const shown = JSON.stringify(value)
  if (oneOf && !oneOf.includes(value))
    throw await invalidUsage(command, `${name} is ${oneOf.join(', ')}, not ${shown}.`)
  if (!range) return
  const [from, to] = range
  const isWithin = /^\d{1,9}$/.test(value) && Number(value) >= from && Number(value) <= to
  if (!isWithin) throw await invalidUsage(command, `${name} is a whole number from ${from} to ${to}, not ${shown}.`)
}
