import { createScrubber, isRecord, ProvostError } from '@provost/core'
import type { Scrubber, SecretRef } from '@provost/core'

import { environmentValue, isSecretRef, readSecret } from './secret-ref.ts'

/** The secrets for the tools of a run, and the scrubber that hides their values. */
export interface SecretScope {
  readonly refs: ReadonlyMap<string, SecretRef>
  readonly scrubber: Scrubber
  /** Descendants have only the secrets of this scope: they cannot add their own. */
  readonly closed: boolean
  /**
   * Reads the value of a secret and registers it with the scrubber.
   *
   * @throws ProvostError `secret-denied` for a name that is not in the scope, `secret-unavailable`
   */
  resolve(name: string): Promise<string>
}

const nameForm = /^[A-Za-z_][\w.-]{0,63}$/

/**
 * Returns the scope of an agent's own secrets. The scrubber knows values of the environment at once, others after they
 * are resolved.
 *
 * @throws ProvostError `invalid-secret` for a name or a reference that cannot be one.
 */
export function createSecretScope(secrets: Readonly<Record<string, SecretRef>> = {}): SecretScope {
  if (!isRecord(secrets)) throw invalidSecret('The secrets of an agent are an object by name.')
  const refs = new Map<string, SecretRef>()
  for (const [name, ref] of Object.entries(secrets)) {
    if (!nameForm.test(name)) throw invalidSecret(`A secret cannot be called ${JSON.stringify(name.slice(0, 100))}.`)
    // A value that is passed by mistake must not appear in the error.
    if (!isSecretRef(ref)) throw invalidSecret(`The secret ${name} is no reference.`)
    refs.set(name, ref)
  }
  return scopeOf(refs, createScrubber(), false)
}

/** How a child receives secrets; see {@link childSecrets}. */
export type SecretInheritance = 'allowlist' | 'explicit' | 'isolated'

/** The secrets of a child. */
export interface SecretGrant {
  /** Default `allowlist`. */
  readonly secrets?: SecretInheritance
  /** Names of the parent's secrets. Default: none. */
  readonly inheritSecrets?: readonly string[]
}

/**
 * Returns the scope of a child, which inherits named secrets only.
 *
 * - `allowlist`: its own secrets, and those of the parent's that `inheritSecrets` names; its own go before them.
 * - `explicit`: only those that `inheritSecrets` names, without its own. This also applies to all descendants and
 *   handoff targets.
 * - `isolated`: its own alone; `inheritSecrets` is then refused.
 *
 * The child shares the scrubber of its parent, so its secrets are hidden in its result.
 *
 * @param parent of the run that calls.
 * @param own of the agent that is called.
 * @throws ProvostError `secret-denied` where `inheritSecrets` names what the parent does not have.
 */
export function childSecrets(parent: SecretScope, own: SecretScope, grant: SecretGrant = {}): SecretScope {
  const { secrets = 'allowlist', inheritSecrets = [] } = grant
  const closed = parent.closed || secrets === 'explicit'
  const refs = new Map<string, SecretRef>(closed ? [] : own.refs)
  if (secrets === 'isolated' && inheritSecrets.length > 0) {
    throw denied(inheritSecrets.join(', '), 'an isolated child inherits none')
  }
  for (const name of inheritSecrets) {
    const ref = parent.refs.get(name)
    if (!ref) throw denied(name, 'the parent does not have it itself')
    if (!refs.has(name)) refs.set(name, ref)
  }
  return scopeOf(refs, parent.scrubber, closed)
}

function scopeOf(refs: ReadonlyMap<string, SecretRef>, scrubber: Scrubber, closed: boolean): SecretScope {
  for (const [name, ref] of refs) scrubber.add(name, environmentValue(ref) ?? '')
  return Object.freeze({
    refs,
    scrubber,
    closed,
    async resolve(name: string) {
      const ref = refs.get(name)
      if (!ref) throw denied(name, 'it was not granted here')
      const value = await readSecret(name, ref)
      scrubber.add(name, value)
      return value
    },
  })
}

/** Returns the error for a denied secret. */
export function denied(name: string, why: string): ProvostError {
  return new ProvostError('secret-denied', `The secret ${name.slice(0, 64)} may not be used: ${why}.`, {
    hint: 'Declare the secret in the tool, and add it to the secrets of its agent.',
  })
}

function invalidSecret(message: string): ProvostError {
  return new ProvostError('invalid-secret', message, {
    hint: "Give secrets: { API_KEY: secretRef('env:API_KEY') }; names have letters, digits, _ . and -.",
  })
}
