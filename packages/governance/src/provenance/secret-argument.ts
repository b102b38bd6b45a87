import type { ArgRole, Json, JsonPointer, Label, ToolCall } from '@provost/core'
import { replaceTokens } from '@provost/core'

import type { DataFlowRule } from './data-flow-rule.ts'

/** The token of a secret in a call's arguments, outside a credential. */
export interface SecretArgument {
  /** The argument that contains the token; absent for a token in a key. */
  readonly path?: JsonPointer
  readonly role?: ArgRole
  readonly name: string
  /** The token replaced an encoded form of the value, such as base64: the value was rewritten. */
  readonly rewritten: boolean
}

/**
 * Returns the tokens of secrets in the arguments of a call, except in credentials. A credential uses a secret; any other
 * argument discloses it. The executor replaces a token by its value if the tool declares the secret, so an attacker could
 * make such a tool send it.
 */
export function secretArguments(
  { input }: ToolCall,
  values: readonly { readonly path: JsonPointer; readonly role: ArgRole; readonly value: string }[],
): readonly SecretArgument[] {
  const found: SecretArgument[] = []
  for (const { path, role, value } of values) {
    eachToken(value, (name, rewritten) => {
      if (role !== 'credential' || rewritten) found.push({ path, role, name, rewritten })
    })
  }
  eachKey(input, (key) => {
    eachToken(key, (name, rewritten) => found.push({ name, rewritten }))
  })
  return found
}

/** The label of a call that would disclose a secret. */
export const secretLabel: Label = Object.freeze({
  integrity: 'trusted',
  confidentiality: 'secret',
  readers: [],
  sources: [],
})

/** Judges calls that would send or store a secret: asks, or denies once outsiders may have caused the call. */
export const secretArgument: DataFlowRule = ({ call, secrets }) => {
  if (secrets.length === 0) return undefined
  const evidence: Json = {
    tool: call.tool.name,
    secrets: secrets.slice(0, 8).map(({ path, role, name }) => ({ name, argument: path ?? null, role: role ?? null })),
  }
  if (call.label.integrity === 'untrusted' || secrets.some(({ rewritten }) => rewritten)) {
    return { deny: 'These arguments may not contain a secret. Leave it out: a tool that needs one has it.', evidence }
  }
  const names = [...new Set(secrets.map(({ name }) => name))].slice(0, 4).join(', ')
  return { ask: { reason: `${call.tool.name} would receive the secret ${names}`, evidence } }
}

function eachToken(text: string, found: (name: string, rewritten: boolean) => void): void {
  replaceTokens(text, ({ kind, name }, whole) => {
    found(name, kind === 'redacted')
    return whole
  })
}

function eachKey(value: Json | undefined, found: (key: string) => void): void {
  if (Array.isArray(value)) for (const item of value) eachKey(item, found)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      found(key)
      eachKey(item, found)
    }
  }
}
