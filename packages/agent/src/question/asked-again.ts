import type { ApprovalDecision, Ask, QuestionSubject, Tool, ToolCall } from '@provost/core'

import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { knownAddresses } from './known-addresses.ts'
import { mergeApprovals } from './merge-approvals.ts'
import { definitionHash, originsIn, subjectOf } from './subject.ts'
import { warningsOf } from './warnings.ts'

/** Returns why an approval does not cover the question that must be asked now; undefined if it does. */
export function renewal(tool: Tool, state: CallState | undefined, { propose }: ApprovalDecision): string | undefined {
  if (propose) return 'the arguments were changed in the answer'
  return state?.definitionHash === definitionHash(tool)
    ? undefined
    : `${tool.name} has changed since it was asked about`
}

/** Merges all approval requests into one question, with the reason for asking again. */
export function askedAgain(asks: readonly Ask[], renewed: string | undefined): Ask {
  if (renewed === undefined) return mergeApprovals(asks)
  if (asks.length === 0) return { reason: renewed }
  const ask = mergeApprovals(asks)
  return { ...ask, reason: `${ask.reason}; ${renewed}` }
}

/** Returns what the approver learns about the call. */
export function askedAbout(
  ctx: RunContext,
  tool: Tool,
  { input, label }: ToolCall,
  asks: readonly { readonly ask: Ask }[],
): QuestionSubject {
  const { intent, instructions } = ctx.contextFor(ctx.agent.self)
  const known = knownAddresses(ctx.agent, ctx.state, intent, instructions)
  return subjectOf(tool, label, { origins: originsIn(asks.map(({ ask }) => ask)), warnings: warningsOf(input, known) })
}
