import type { Session } from '@provost/agent'
import { decisionsOf } from '@provost/agent/internal'
import type { CheckedKeys, Decisions, Extension, OnApproval, Principal } from '@provost/core'

/** How agents run together outside of an agent's run. */
export interface TeamOptions {
  /** Interrupted work resumes when the same work is started for the same session. */
  readonly session?: Session<unknown, never> | undefined
  /** Extensions with the scope `tree` cover what it runs, as those of an agent do: telemetry, policies. */
  readonly extensions?: readonly Extension<unknown>[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Called for each approval that a child requests. */
  readonly onApproval?: OnApproval | undefined
  /** Decisions on what an earlier start for the same session waited for: `error.pending` of its error. */
  readonly decisions?: Decisions | undefined
  readonly principal?: Principal | undefined
  /** The app value of the tools. */
  readonly context?: unknown
}

export const teamKeys: CheckedKeys<TeamOptions> = {
  session: true,
  extensions: true,
  signal: true,
  onApproval: true,
  decisions: decisionsOf,
  principal: true,
  context: true,
}
