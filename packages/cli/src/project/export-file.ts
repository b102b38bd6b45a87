import { createReadStream } from 'node:fs'
import process from 'node:process'

import { displayText, ProvostError } from '@provost/core'

import { standardInput } from './standard-input.ts'

/** Yields the text of a file, or of stdin for `-`, in pieces. @throws ProvostError `unreadable-file` */
export async function* textOf(file: string): AsyncGenerator<string> {
  try {
    const isPiped = file === standardInput
    const pieces: AsyncIterable<string> = isPiped ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8')
    yield* pieces
  } catch (cause) {
    throw new ProvostError(
      'unreadable-file',
      `${displayText(file, { limit: 500 })} cannot be read: ${messageOf(cause)}`,
      {
        hint: 'Pass the path of a file that provost export wrote.',
        cause,
      },
    )
  }
}

/** Returns the message of an error of the file system. */
export function messageOf(cause: unknown): string {
  return displayText(cause instanceof Error ? cause.message : String(cause), { limit: 500 })
}

/** Returns the option `key` from the environment: an argument would be visible to all users of the machine. */
export function keyIn(variable: 'PROVOST_EXPORT_KEY' | 'PROVOST_AUDIT_KEY'): { readonly key?: string } {
  const key = process.env[variable]
  return key ? { key } : {}
}
