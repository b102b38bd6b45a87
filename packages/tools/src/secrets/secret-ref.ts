import { readFile } from 'node:fs/promises'
import process from 'node:process'

import { isRecord, ProvostError } from '@provost/core'
import type { MaybePromise, SecretRef } from '@provost/core'

/** The source of a secret: an environment variable, a file, or a function. */
export type SecretSource = `env:${string}` | `file:${string}` | (() => MaybePromise<string>)

/** Not on the reference itself: what can be printed does not lead to the value. */
const functions = new WeakMap<SecretRef, () => MaybePromise<string>>()

/**
 * Says where a secret is. Nothing is read until a tool that declares the secret is called; a file is taken without
 * the line end behind it.
 *
 * @throws ProvostError `invalid-secret` for a source of another kind.
 *
 * @example
 * createAgent({ …, secrets: { BANK_KEY: secretRef('env:BANK_KEY'), VAULT: secretRef(() => vault.get('desk')) } })
 */
export function secretRef(from: SecretSource): SecretRef {
  if (typeof from === 'function') {
    const ref = Object.freeze({ kind: 'secret', from: 'custom' } as const)
    functions.set(ref, from)
    return ref
  }
  if (typeof from !== 'string' || !/^(env|file):./s.test(from))
    throw new ProvostError('invalid-secret', 'A secret comes from an env: variable, a file: or a function.', {
      hint: "Give secretRef('env:NAME'), secretRef('file:/run/secrets/name') or secretRef(() => …).",
    })
  return Object.freeze({ kind: 'secret', from })
}

/** Returns whether a value was made by {@link secretRef}, here or in another copy of this package. */
export function isSecretRef(value: unknown): value is SecretRef {
  return isRecord(value) && value['kind'] === 'secret' && typeof value['from'] === 'string'
}

/** Returns the value of an environment variable, for code that only needs to hide it. */
export function environmentValue(ref: SecretRef): string | undefined {
  return ref.from.startsWith('env:') ? process.env[ref.from.slice('env:'.length)] : undefined
}

/** Reads the value. Throws without naming anything of it. */
export async function readSecret(name: string, ref: SecretRef): Promise<string> {
  let value: unknown
  try {
    value = await valueOf(ref)
  } catch {
    // The error may contain the value.
    throw unavailable(name, `${ref.from} could not be read`)
  }
  if (typeof value !== 'string' || value === '') throw unavailable(name, `${ref.from} gave no text`)
  return value
}

function valueOf(ref: SecretRef): MaybePromise<string | undefined> {
  const custom = functions.get(ref)
  if (custom) return custom()
  if (ref.from.startsWith('env:')) return environmentValue(ref)
  if (ref.from.startsWith('file:')) {
    return readFile(ref.from.slice('file:'.length), 'utf8').then((text) => text.replace(/\r?\n$/, ''))
  }
  return undefined
}

function unavailable(name: string, why: string): ProvostError {
  return new ProvostError('secret-unavailable', `The secret ${name} is unavailable: ${why}.`, {
    hint: 'Set it where the agent runs.',
  })
}
