import { opaPolicy } from '@ai-sdk/policy-opa'
import type { PolicyClient } from '@ai-sdk/policy-opa'

/** Returns a `toolApproval` of `@ai-sdk/policy-opa` whose decisions a function makes, in place of a compiled policy. */
export function guardOpa(decide: (input: unknown) => unknown): unknown {
  // The interface of the package is generic over results that only the policy knows.
  const evaluate = async (_: string, input: unknown): Promise<unknown> => decide(input)
  return opaPolicy({ client: { evaluate } as PolicyClient, path: 'agent/call/decision' })
}
