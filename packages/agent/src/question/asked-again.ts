import type { ApprovalDecision, Ask, QuestionSubject, Tool, ToolCall } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { knownAddresses } from './known-addresses.ts'
import { mergeApprovals } from './merge-approvals.ts'
import { definitionHash, originsIn, subjectOf } from './subject.ts'
import { warningsOf } from './warnings.ts'

/** Why an approval answers another question than the one that has to be asked now; undefined where it does not. */
export function renewal(tool: Tool, state: CallState | undefined, { propose }: ApprovalDecision): string | undefined {
  if (propose) return 'the arguments were changed in the answer'
  return state?.definitionHash === definitionHash(tool)
    ? undefined
    : `${tool.name} has changed since it was asked about`
}

/** One question of all wishes to ask, and why it is asked again. */
export function askedAgain(asks: readonly Ask[], renewed: string | undefined): Ask {
  if (renewed === undefined) return mergeApprovals(asks)
  if (asks.length === 0) return { reason: renewed }
  const ask = mergeApprovals(asks)
  return { ...ask, reason: `${ask.reason}; ${renewed}` }
}

/** What the human is told of the call. */
export function askedAbout(
  scope: RunContext,
  tool: Tool,
  { input, label }: ToolCall,
  asks: readonly { readonly ask: Ask }[],
): QuestionSubject {
  const { intent, instructions } = scope.contextFor(scope.plan.self)
  const known = knownAddresses(scope.plan, scope.state, intent, instructions)
  return subjectOf(tool, label, { origins: originsIn(asks.map(({ ask }) => ask)), warnings: warningsOf(input, known) })
}
