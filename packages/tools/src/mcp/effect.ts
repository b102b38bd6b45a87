import type { Effect } from '@provost/core'

/** What a server says its tool does. A hint: whoever wants to be believed writes it, and so does whoever lies. */
export interface McpEffects {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/**
 * The effect of a tool by its annotations. A closed world is one that nobody outside can learn from; a tool that says
 * nothing may do anything.
 */
export function effectOf({ readOnlyHint, openWorldHint }: McpEffects = {}): Effect {
  if (readOnlyHint === true && openWorldHint !== true) return 'read'
  return openWorldHint === false ? 'write' : 'egress'
}
