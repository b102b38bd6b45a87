import { ProvostError } from '@provost/core'

/** Returns the error of a policy that cannot be used. */
export function invalidPolicy(what: string, reasons: readonly string[] = []): ProvostError {
  const shown = reasons.slice(0, 5).map((reason) => `\n- ${reason.slice(0, 500)}`)
  return new ProvostError('invalid-cedar-policy', `${what}${shown.join('')}`, {
    hint: 'Correct the policy. The README of @provost/policy-cedar lists what a policy can read.',
  })
}
