import { createAgent } from '@provost/agent'
import type { Principal, SessionStore } from '@provost/core'
import type { OperatorRole, Server, ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'
import type { ZodType } from 'zod'

import { ask, refund, serverOf } from '../served.ts'

/** Vera views, Dan decides, Olga operates. Ann and Bob have sessions. */
const roles: Readonly<Record<string, OperatorRole>> = { vera: 'view', dan: 'decide', olga: 'operate' }
export const operator = ({ id }: Principal): OperatorRole | undefined => roles[id]

/** A tool whose results are secret. */
export const vault = tool({
  name: 'vault',
  effect: 'read',
  input: z.object({ key: z.string() }),
  returns: { integrity: 'trusted', confidentiality: 'secret' },
  execute: ({ key }) => `the secret of ${key}: hunter2`,
})

export function consoleServer(
  steps: readonly ScriptedEntry[],
  options: Partial<ServerOptions> = {},
): { server: Server; store: SessionStore } {
  const store = options.store ?? memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([...steps]), tools: [refund, vault], store })
  return {
    store,
    server: serverOf([], { agents: [agent], operator, approvals: { by: 'operator' }, ...options, store }),
  }
}

/** Returns the answer of a console route, as its schema reads it. */
export async function got<T>(
  server: Server,
  path: string,
  schema: ZodType<T>,
  as = 'olga',
  body?: unknown,
): Promise<T> {
  const response = await ask(server, `/api/console/${path}`, { as, ...(body !== undefined && { body }) })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  return schema.parse(await response.json())
}
