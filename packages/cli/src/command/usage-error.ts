import type { ProvostError } from '@provost/core'

import type { Command } from './command.ts'

/** A name that is not known, and the known ones. */
interface Misspelt {
  readonly given: string
  readonly known: readonly string[]
}

/** Returns the error for an invalid command line. Its code loads only now, so that `--help` needs none of it. */
export async function invalidUsage(
  command: Pick<Command, 'name'> | undefined,
  message: string,
  misspelt?: Misspelt,
): Promise<ProvostError> {
  const { displayText, nearestName, ProvostError: KnownError } = await import('@provost/core')
  const near = misspelt && nearestName(misspelt.given, misspelt.known)
  const more = `See: provost ${command ? `${command.name} ` : ''}--help`
  const option = misspelt && command ? '--' : ''
  return new KnownError('invalid-usage', displayText(message, { limit: 300 }), {
    hint: near === undefined ? more : `Did you mean ${option}${near}? ${more}`,
  })
}
