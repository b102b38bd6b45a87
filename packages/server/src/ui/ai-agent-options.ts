import type { KnownKeys, Principal, SessionStore } from '@provost/core'
import { checkOptions } from '@provost/core'

/** Options of {@link aiAgent}. */
export interface AiAgentOptions {
  /** Principal of its runs. Make one wrapper for each principal: approvals are answered where they were requested. */
  readonly principal?: Principal
  /** Store of its sessions. Default: the agent's. */
  readonly store?: SessionStore
}

/** @throws ProvostError `unknown-option` */
export function checkAiAgentOptions(options: AiAgentOptions): void {
  checkOptions(options, aiAgentKeys, 'aiAgent')
}

const aiAgentKeys: KnownKeys<AiAgentOptions> = { principal: true, store: true }
