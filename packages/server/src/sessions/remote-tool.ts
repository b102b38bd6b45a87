import type { Json, Tool } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { foreignSchema, patternAllowance, schemaProblems, tool, toolSet } from '@provost/tools'

import type { Limits } from '../options/limits.ts'

/** The definition of a tool that a client runs. */
export interface RemoteToolInit {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: Readonly<Record<string, Json>>
  /** Milliseconds within which its result must arrive. Default: unlimited. */
  readonly timeoutMs?: number | undefined
}

/** Problems of a schema that an error lists at most. */
const mostNamed = 5

/**
 * Checks a client's tools against the limits, and that their schemas can be checked in bounded time. Tools from a log are
 * not checked again: unsupported parts of their schemas accept every value.
 *
 * @throws ProvostError `invalid-tool`
 */
export function checkRemoteTools(tools: readonly RemoteToolInit[], limits: Limits): void {
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  if (tools.length > limits.remoteTools || bytes > limits.remoteToolBytes) {
    throw new ProvostError('invalid-tool', `The request has ${tools.length} tools in ${bytes} bytes.`, {
      hint: `Send up to ${limits.remoteTools} tools in ${limits.remoteToolBytes} bytes for a session.`,
    })
  }
  const allowance = patternAllowance()
  for (const { name, inputSchema } of tools) {
    const problems = schemaProblems(inputSchema, allowance).slice(0, mostNamed)
    if (problems.length === 0) continue
    const details = problems.map(({ path, what }) => `at ${path === '' ? 'its top' : path}, ${what}`).join('; ')
    throw new ProvostError('invalid-tool', `The input schema of ${JSON.stringify(name)} cannot be used: ${details}.`, {
      hint: 'Correct the schema, or state the constraint in the description and check it in the tool.',
    })
  }
}

/**
 * Returns a client's tools for an agent. They are not the developer's code: each has the effect `egress`, its results are
 * untrusted, and its description and schema make no value trusted.
 *
 * @param set name of their origin.
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

/** Returns the tools in the data of a session's log. */
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
