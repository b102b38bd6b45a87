import type { HostileInput } from './input.ts'
import { conversations } from './inputs/conversations.ts'
import { exportedSessions } from './inputs/exports.ts'
import { mails } from './inputs/mails.ts'
import { mcpMessages } from './inputs/mcp-messages.ts'
import { modelOutputs } from './inputs/model-outputs.ts'
import { readings } from './inputs/pages.ts'
import { patternInputs } from './inputs/patterns.ts'
import { peerInputs } from './inputs/peers.ts'
import { requests } from './inputs/requests.ts'
import { schemas } from './inputs/schemas.ts'
import { scripts } from './inputs/scripts.ts'
import { runStates } from './inputs/states.ts'

/** All hostile inputs. */
export const corpus: readonly HostileInput[] = [
  ...requests,
  ...conversations,
  ...peerInputs,
  ...schemas,
  ...scripts,
  ...mcpMessages,
  ...mails,
  ...readings,
  ...exportedSessions,
  ...runStates,
  ...modelOutputs,
  ...patternInputs,
]
