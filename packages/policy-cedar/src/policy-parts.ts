import * as cedar from '@cedar-policy/cedar-wasm/nodejs'

import { invalidPolicy } from './cedar-error.ts'

/** What a policy of a file decides when it applies. */
export interface PolicyPart {
  readonly id: string
  readonly text: string
  readonly effect: 'permit' | 'forbid'
  /** Of a `forbid`: whether it asks a human or denies. */
  readonly decision: 'ask' | 'deny'
  /** What a human and the model read. */
  readonly reason: string | undefined
}

/** Characters of the longest policy file, and policies in it. */
const longestText = 1_000_000
const mostPolicies = 2_000

const known: ReadonlySet<string> = new Set(['id', 'decision', 'reason'])

/**
 * Returns the policies of a file with their annotations.
 *
 * @throws ProvostError `invalid-cedar-policy`
 */
export function policyParts(text: string): readonly PolicyPart[] {
  if (text.length > longestText) throw invalidPolicy(`The policy is longer than ${longestText} characters.`)
  const parts = cedar.policySetTextToParts(text)
  if (parts.type === 'failure') throw invalidPolicy('The policy cannot be parsed.', messagesOf(parts.errors))
  if (parts.policy_templates.length > 0) throw invalidPolicy('The policy has templates, which have no values here.')
  if (parts.policies.length > mostPolicies) throw invalidPolicy(`The policy has more than ${mostPolicies} parts.`)
  const policies = parts.policies.map(partOf)
  const twice = policies.find(({ id }, index) => policies.findIndex((one) => one.id === id) !== index)
  if (twice) throw invalidPolicy(`Two policies have the @id "${twice.id}".`)
  return policies
}

function partOf(text: string): PolicyPart {
  const parsed = cedar.policyToJson(text)
  if (parsed.type === 'failure') throw invalidPolicy('A policy cannot be parsed.', messagesOf(parsed.errors))
  const { effect, annotations = {} } = parsed.json
  const { id, decision = 'deny', reason } = annotations
  if (id === undefined || id === '') throw invalidPolicy(`A policy has no @id: ${text.slice(0, 100)}`)
  const other = Object.keys(annotations).find((name) => !known.has(name))
  if (other !== undefined) throw invalidPolicy(`The policy "${id}" has the unknown annotation @${other}.`)
  if (decision !== 'ask' && decision !== 'deny')
    throw invalidPolicy(`The @decision of the policy "${id}" is "${decision}". Write "ask" or "deny".`)
  if (effect === 'permit' && annotations['decision'] !== undefined)
    throw invalidPolicy(`The policy "${id}" permits, and has a @decision. Only a forbid has one.`)
  return { id, text, effect, decision, reason }
}

export function messagesOf(errors: readonly cedar.DetailedError[]): readonly string[] {
  return errors.map(({ message, help }) => (help === null ? message : `${message} (${help})`))
}
