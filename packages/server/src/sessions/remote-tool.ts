import type { Json, Tool } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { foreignSchema, patternAllowance, schemaProblems, tool, toolSet } from '@provost/tools'

import type { Limits } from '../options/limits.ts'

/** A tool that a client runs: what the model is told of it. */
export interface RemoteToolInit {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: Readonly<Record<string, Json>>
  /** Milliseconds that its results have. Default: as long as it takes. */
  readonly timeoutMs?: number | undefined
}

/** Problems of a schema that an error names. */
const mostNamed = 5

/**
 * Checks what a client brought against the limits, and that its schemas can be checked in bounded time. Tools out of a
 * log are not checked again: what cannot be checked of their schemas allows everything.
 *
 * @throws ProvostError `invalid-tool`
 */
export function checkRemoteTools(tools: readonly RemoteToolInit[], limits: Limits): void {
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  if (tools.length > limits.remoteTools || bytes > limits.remoteToolBytes) {
    throw new ProvostError('invalid-tool', `These are ${tools.length} tools in ${bytes} bytes.`, {
      hint: `A session takes up to ${limits.remoteTools} tools in ${limits.remoteToolBytes} bytes.`,
    })
  }
  const allowance = patternAllowance()
  for (const { name, inputSchema } of tools) {
    const problems = schemaProblems(inputSchema, allowance).slice(0, mostNamed)
    if (problems.length === 0) continue
    const said = problems.map(({ path, what }) => `at ${path === '' ? 'its top' : path}, ${what}`).join('; ')
    throw new ProvostError('invalid-tool', `The input schema of ${JSON.stringify(name)} cannot be used: ${said}.`, {
      hint: 'Correct the schema, or say it in the description and check it where the tool runs.',
    })
  }
}

/**
 * Tools of a client for an agent. Their code and their words are not the developer's: each counts as reaching the
 * outside, its results are untrusted, and its description and schema vouch for no value.
 *
 * @param set names where they come from.
 */
export function remoteTools(inits: readonly RemoteToolInit[], set: string): readonly Tool[] {
  const made: readonly Tool[] = inits.map(({ name, description, inputSchema, timeoutMs }) =>
    tool({
      name,
      ...(description !== undefined && { description }),
      input: foreignSchema({ ...inputSchema }, { vendor: 'client' }),
      effect: 'egress',
      returns: { integrity: 'untrusted', sources: [`client:${name}`] },
      ...(timeoutMs !== undefined && { timeoutMs }),
    }),
  )
  return toolSet(set, made)
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
