import { createAgent } from '@provost/agent'
import type { PendingApproval, PendingWork, Principal } from '@provost/core'
import type { Server, ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'

import { ask, executed, refund, serverOf } from '../served.ts'

export const call = { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
export const steps = [call, { text: 'done' }]
export const operator = ({ id }: Principal): boolean => id === 'olga'

export async function refusal(response: Response): Promise<{ status: number; code: string }> {
  const { error } = await response.json()
  return { status: response.status, code: error.code }
}

export async function pendingIn(server: Server, id: string, as = 'ann'): Promise<PendingWork> {
  return (await (await ask(server, `/api/agent/session/${id}`, { as })).json()).pending
}

/** A session of Ann with a pending approval for a refund. */
export async function asked(
  options: Partial<ServerOptions>,
  script: readonly ScriptedEntry[] = steps,
): Promise<{ server: Server; id: string; approval: PendingApproval }> {
  const store = options.store ?? memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([...script]), tools: [refund], store })
  const server = serverOf([], { agents: [agent], ...options, store })
  const { id, last } = await executed(server, { input: 'refund 80' })
  const [approval] = last.pending.approvals
  if (!approval) throw new Error('nothing is asked')
  return { server, id, approval }
}

export function decide(server: Server, id: string, as: string, body: unknown): Promise<Response> {
  return ask(server, `/api/agent/session/${id}/approvals`, { as, body })
}

export const yes = (id: string, more: object = {}): object => ({ approvals: [{ id, decision: 'approve', ...more }] })
export const no = (id: string): object => ({ approvals: [{ id, decision: 'deny' }] })

/** The messages of a session once it is idle. */
export async function outcome(server: Server, id: string, as = 'ann'): Promise<string> {
  await (await ask(server, `/api/agent/session/${id}/events`, { as })).text()
  return JSON.stringify((await (await ask(server, `/api/agent/session/${id}`, { as })).json()).messages)
}
