import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { toErrorInfo } from '@provost/core'

import { invalidPolicy } from './cedar-error.ts'
import type { PolicyPart } from './policy-parts.ts'
import { messagesOf } from './policy-parts.ts'

/** A call, as Cedar judges it. */
export type CedarRequest = Pick<
  cedar.StatefulAuthorizationCall,
  'principal' | 'action' | 'resource' | 'context' | 'entities'
>

/** The policies that apply to a call, or why there is no answer. */
export type CedarAnswer =
  | { readonly permitted: boolean; readonly policies: readonly string[] }
  | { readonly failed: readonly string[] }

/** Hashes of policies that Cedar keeps parsed. */
const parsed = new Set<string>()

/**
 * Parses and validates policies, once for each hash.
 *
 * @throws ProvostError `invalid-cedar-policy`, also for a policy that never applies.
 */
export function preparePolicies(hash: string, parts: readonly PolicyPart[], schema: cedar.SchemaJson<string>): void {
  if (parsed.has(hash)) return
  const policies = { staticPolicies: Object.fromEntries(parts.map(({ id, text }) => [id, text])) }
  const checked = cedar.validate({ schema, policies, validationSettings: { mode: 'strict' } })
  if (checked.type === 'failure') throw invalidPolicy('The policy does not validate.', messagesOf(checked.errors))
  const faults = [...checked.validationErrors, ...checked.validationWarnings]
  const named = faults.map(({ policyId, error }) => `${policyId}: ${messagesOf([error]).join()}`)
  const all = [...named, ...messagesOf(checked.otherWarnings)]
  if (all.length > 0) throw invalidPolicy('The policy does not fit the tools.', all)
  const schemaParsed = cedar.preparseSchema(hash, schema)
  if (schemaParsed.type === 'failure') throw invalidPolicy('The schema is invalid.', messagesOf(schemaParsed.errors))
  const setParsed = cedar.preparsePolicySet(hash, policies)
  if (setParsed.type === 'failure') throw invalidPolicy('The policy is invalid.', messagesOf(setParsed.errors))
  parsed.add(hash)
}

/**
 * Judges a call. Cedar skips a policy that fails, also a `forbid`. So any error is a failure of the whole answer.
 *
 * @param hash of prepared policies.
 */
export function judge(hash: string, request: CedarRequest): CedarAnswer {
  let answer: cedar.AuthorizationAnswer
  try {
    answer = cedar.statefulIsAuthorized({
      ...request,
      preparsedPolicySetId: hash,
      preparsedSchemaName: hash,
      validateRequest: true,
    })
  } catch (thrown) {
    return { failed: [toErrorInfo(thrown).message] }
  }
  if (answer.type !== 'success') return { failed: messagesOf(answer.errors) }
  const { decision, diagnostics } = answer.response
  if (diagnostics.errors.length > 0) {
    return { failed: diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`) }
  }
  return { permitted: decision === 'allow', policies: diagnostics.reason }
}
