import type { ApprovalDecision, EntryOf, Json, ToolInfo } from '@provost/core'
import { toJson } from '@provost/core'

import { definitionHash } from '../question/subject.ts'
import { hashJson } from '../state/entry.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/**
 * Records an approval for the session, if the question offered that and the human chose it. It covers calls of the same
 * tool definition, with the same arguments, asked about by the same extensions or tool, for the same principal. It
 * covers nothing else.
 */
export function recordApproval(
  state: SessionState,
  run: RunProgress,
  call: CallState,
  wait: EntryOf<'wait'>,
  verdict: ApprovalDecision,
): void {
  if (!wait.sticky || !verdict.sticky || verdict.decision !== 'approve' || call.askedBy === undefined) return
  // What was approved is unknown.
  const definition = wait.about?.definitionHash
  if (definition === undefined || verdict.propose) return
  // The arguments that the human edited are the approved ones.
  const args = verdict.args === undefined ? call.argsHash : hashJson(toJson(verdict.args))
  if (args === undefined) return
  state.sessionApprovals.set(keyOf(run, call.part.toolName, call.askedBy, args, definition), verdict.by ?? '')
}

/**
 * Returns the approver of such a call for the whole session.
 *
 * @param askedBy the extensions or the tool that ask now.
 */
export function sessionApproval(state: SessionState, tool: ToolInfo, askedBy: string, args: Json): string | undefined {
  if (!state.run || state.sessionApprovals.size === 0) return undefined
  return state.sessionApprovals.get(keyOf(state.run, tool.name, askedBy, hashJson(args), definitionHash(tool)))
}

function keyOf(run: RunProgress, toolName: string, askedBy: string, argsHash: string, definition: string): string {
  return JSON.stringify([run.principal?.id ?? null, toolName, askedBy, argsHash, definition])
}
