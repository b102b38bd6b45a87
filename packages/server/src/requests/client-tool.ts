import type { Json } from '@provost/core'
import { toJson } from '@provost/core'

import type { RemoteToolInit } from '../sessions/remote-tool.ts'

/** Returns a tool that a request declares and its client executes. */
export function clientTool(
  name: string,
  description: string | null | undefined,
  parameters: Readonly<Record<string, unknown>>,
): RemoteToolInit {
  const inputSchema: Record<string, Json> = {}
  for (const [key, value] of Object.entries(parameters)) inputSchema[key] = toJson(value)
  return { name, inputSchema, ...(description && { description }) }
}
