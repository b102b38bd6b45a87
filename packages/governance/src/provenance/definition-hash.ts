import { hash } from 'node:crypto'

import type { ToolInfo } from '@provost/core'
import { definitionText } from '@provost/core'

const hashes = new WeakMap<ToolInfo, string>()

/** Returns the hash of a tool's definition. An approval carries it, so it applies to this definition only. */
export function definitionHash(tool: ToolInfo): string {
  let known = hashes.get(tool)
  if (known === undefined) hashes.set(tool, (known = hash('sha256', definitionText(tool))))
  return known
}
