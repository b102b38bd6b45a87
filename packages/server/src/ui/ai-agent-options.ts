import type { KnownKeys, Principal, SessionStore } from '@provost/core'
import { checkOptions } from '@provost/core'

/** How an agent stands in for one of the AI SDK. */
export interface AiAgentOptions {
  /** On whose behalf its runs act. Make one stand-in for each principal: approvals are answered where they were asked for. */
  readonly principal?: Principal
  /** Where its sessions are. Default: the agent's. */
  readonly store?: SessionStore
}

/** @throws ProvostError `unknown-option` */
export function checkAiAgentOptions(options: AiAgentOptions): void {
  checkOptions(options, aiAgentKeys, 'aiAgent')
}

export const aiAgentKeys = { principal: true, store: true } satisfies KnownKeys<AiAgentOptions>
