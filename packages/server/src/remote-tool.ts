import type { Json, Tool } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { tool } from '@provost/tools'

import type { Limits } from './limits.ts'

/** A tool that a client runs: what the model is told of it. */
export interface RemoteToolInit {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: Readonly<Record<string, Json>>
  /** Milliseconds that its results have. Default: as long as it takes. */
  readonly timeoutMs?: number | undefined
}

/**
 * Checks what a client brought against the limits.
 *
 * @throws ProvostError `invalid-tool`
 */
export function checkRemoteTools(tools: readonly RemoteToolInit[], limits: Limits): void {
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  if (tools.length <= limits.remoteTools && bytes <= limits.remoteToolBytes) return
  throw new ProvostError('invalid-tool', `These are ${tools.length} tools in ${bytes} bytes.`, {
    hint: `A session takes up to ${limits.remoteTools} tools in ${limits.remoteToolBytes} bytes.`,
  })
}

/**
 * Tools of a client for an agent. Nobody here has seen their code: whatever they do counts as reaching the outside, and
 * what they give is untrusted.
 */
export function remoteTools(inits: readonly RemoteToolInit[]): readonly Tool<never, unknown, unknown>[] {
  return inits.map(({ name, description, inputSchema, timeoutMs }) =>
    tool({
      name,
      ...(description !== undefined && { description }),
      input: { ...inputSchema },
      effect: 'egress',
      returns: { integrity: 'untrusted', sources: [`client:${name}`] },
      ...(timeoutMs !== undefined && { timeoutMs }),
    }),
  )
}

/** The tools that are in a session's log. */
export function loggedTools(data: Json): readonly RemoteToolInit[] {
  if (!Array.isArray(data)) return []
  return data.flatMap((one): readonly RemoteToolInit[] => {
    if (!isRecord(one)) return []
    const { name, description, inputSchema, timeoutMs } = one
    if (typeof name !== 'string' || !isJsonRecord(inputSchema)) return []
    return [
      {
        name,
        inputSchema,
        ...(typeof description === 'string' && { description }),
        ...(typeof timeoutMs === 'number' && { timeoutMs }),
      },
    ]
  })
}

function isJsonRecord(value: unknown): value is Record<string, Json> {
  return isRecord(value)
}
