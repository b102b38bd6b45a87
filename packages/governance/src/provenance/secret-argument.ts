import type { ArgRole, Json, JsonPointer, Label, ToolCall } from '@provost/core'
import { replaceTokens } from '@provost/core'

import type { DataFlowRule } from './data-flow-rule.ts'

/** The token of a secret in the arguments of a call, where it is no credential. */
export interface SecretArgument {
  /** Of the argument; absent for one in a key. */
  readonly path?: JsonPointer
  readonly role?: ArgRole
  readonly name: string
  /** It stands for another writing of the value, such as base64: somebody rewrote it. */
  readonly rewritten: boolean
}

/**
 * Tokens of secrets in the arguments of a call, but for those in credentials: there a secret is used, everywhere else it
 * is told. An executor puts the value where the token stands if the tool declares it, so a tool that needs a key to do
 * its work could be made to send it.
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

/** What a call carries that tells a secret to somebody. */
export const secretLabel: Label = Object.freeze({
  integrity: 'trusted',
  confidentiality: 'secret',
  readers: [],
  sources: [],
})

/** A secret stands where it would be sent or stored: a question, and a refusal once outsiders may have asked for it. */
export const secretArgument: DataFlowRule = ({ call, secrets }) => {
  if (secrets.length === 0) return undefined
  const evidence: Json = {
    tool: call.tool.name,
    secrets: secrets.slice(0, 8).map(({ path, role, name }) => ({ name, argument: path ?? null, role: role ?? null })),
  }
  if (call.label.integrity === 'untrusted' || secrets.some(({ rewritten }) => rewritten)) {
    return { deny: 'A secret may not be written there. Leave it out: a tool that needs one has it.', evidence }
  }
  const names = [...new Set(secrets.map(({ name }) => name))].slice(0, 4).join(', ')
  return { ask: { reason: `${call.tool.name} would be told the secret ${names}`, evidence } }
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
