import { parseArgs } from 'node:util'

import { ProvostError } from '@provost/core'

import type { ProviderName, TemplateName } from './choices.ts'
import { providers, templates } from './choices.ts'

/** What the command line says. An absent answer is asked for. */
export interface Arguments {
  readonly directory: string | undefined
  readonly template: TemplateName | undefined
  readonly provider: ProviderName | undefined
  /** Take the defaults instead of asking. */
  readonly yes: boolean
  readonly install: boolean
  readonly json: boolean
}

const options = {
  name: { type: 'string', short: 'n' },
  template: { type: 'string', short: 't' },
  provider: { type: 'string', short: 'p' },
  yes: { type: 'boolean', short: 'y', default: false },
  'no-install': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

type Parsed = ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>

/** @throws ProvostError `invalid-arguments` */
export function readArguments(argv: readonly string[]): Arguments {
  const { values, positionals } = parsed(argv)
  const [first, ...rest] = positionals
  if (rest.length > 0 || (first !== undefined && values.name !== undefined)) {
    throw wrong('More than one folder is given.')
  }
  return {
    directory: values.name ?? first,
    template: chosen(values.template, templates, '--template'),
    provider: chosen(values.provider, providers, '--provider'),
    yes: values.yes,
    install: !values['no-install'],
    json: values.json,
  }
}

/** @throws ProvostError `invalid-arguments` */
function parsed(argv: readonly string[]): Parsed {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true })
  } catch (cause) {
    throw wrong(cause instanceof Error ? cause.message : String(cause))
  }
}

function chosen<T extends string>(
  value: string | undefined,
  choices: readonly { readonly name: T }[],
  flag: string,
): T | undefined {
  if (value === undefined) return undefined
  const found = choices.find(({ name }) => name === value)
  if (found) return found.name
  const names = choices.map(({ name }) => name).join(', ')
  throw wrong(`${flag} "${value.slice(0, 100)}" is not one of ${names}.`)
}

function wrong(message: string): ProvostError {
  return new ProvostError('invalid-arguments', message, { hint: 'See npm create provost -- --help.' })
}
