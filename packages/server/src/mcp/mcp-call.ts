import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Principal } from '@provost/core'
import { noPendingWork } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf } from '../sessions/session-end.ts'
import { followSession } from '../sessions/session-reader.ts'
import { answeredApprovals, approvalForms, canAsk } from './mcp-approval.ts'
import type { Ended } from './mcp-result.ts'
import { answerKind, progressText, resultOf } from './mcp-result.ts'

export type McpSdk = typeof import('@modelcontextprotocol/server')

/** A call of an agent as an MCP tool. */
export interface McpCall {
  readonly sdk: McpSdk
  readonly agent: string
  readonly principal: Principal
  readonly setup: OperationSetup
  readonly mcpReq: ServerContext['mcpReq']
}

/** Input of the tool of an agent. */
export interface ToolInput {
  readonly input: string
  readonly sessionId?: string | undefined
}

/** Runs an agent for a call, or continues the run of a call whose user has answered. */
export async function callAgent(call: McpCall, given: ToolInput): Promise<CallToolResult | InputRequiredResult> {
  const { setup, mcpReq } = call
  setup.accepting()
  // The client holds the state. It is the id of a session, which belongs to the caller or is unknown.
  const asked = mcpReq.requestState()
  const { live, ended, isDismissed } =
    typeof asked === 'string' ? await decided(call, asked) : await started(call, given)
  const cancel = (): void => void live.session.abort()
  mcpReq.signal.addEventListener('abort', cancel, { once: true })
  const quiet = reportProgress(live, mcpReq)
  const end = await ended().finally(() => {
    quiet()
    mcpReq.signal.removeEventListener('abort', cancel)
  })
  if (end.status === 'failed') {
    if (asked === undefined && given.sessionId === undefined) await setup.host.discard(live.id)
    const { code = 'failed', message = 'The run failed.' } = end.error ?? {}
    throw new HttpError(400, { code, message: `${code}: ${message}` })
  }
  if (answerKind(end, !isDismissed && canAsk(call)) === 'input_required') {
    const inputRequests = approvalForms(call, end.pending.approvals)
    return call.sdk.inputRequired({ requestState: live.id, inputRequests })
  }
  return resultOf(live.id, end)
}

/** A run that goes on. */
interface Going {
  readonly live: LiveSession
  /** The user closed the questions without an answer: they stay open for others. */
  readonly isDismissed?: true
  /** Waits for its end. */
  ended(): Promise<Ended>
}

async function started(
  { agent, principal, setup: { host, allow } }: McpCall,
  { input, sessionId }: ToolInput,
): Promise<Going> {
  await allow(principal, sessionId === undefined ? { kind: 'run', agent } : { kind: 'send', sessionId })
  const admitted = host.admit(principal)
  try {
    const live =
      sessionId === undefined ? await host.begin(principal, { agent }) : await host.open(principal, sessionId)
    checkAgent(live, agent)
    const stream = host.start(live, input, {})
    return {
      live,
      async ended() {
        const { status, text, pending, error } = await stream.result
        return { status, text, pending, ...(error && { error: host.redaction.error(error.toJSON()) }) }
      },
    }
  } finally {
    admitted()
  }
}

/** Delivers what the user answered, and follows the run that goes on from it. */
async function decided(call: McpCall, sessionId: string): Promise<Going> {
  const { agent, principal, setup, mcpReq } = call
  const { host, limits, allow, decisionService } = setup
  const live = await host.open(principal, sessionId)
  checkAgent(live, agent)
  const after = await endOf(host.store, live.id)
  const approvals = answeredApprovals(call, live.session.pending.approvals)
  if (approvals.length > 0) {
    const reached = { live, requester: principal }
    await host.decide(live, await decisionService.check(principal, reached, { approvals }, 'mcp'))
  } else {
    // It answers nothing, so it only reads.
    await allow(principal, { kind: 'read', sessionId })
    if (live.session.status === 'suspended') {
      const { pending } = live.session
      return { live, isDismissed: true, ended: async () => ({ status: 'suspended', text: '', pending }) }
    }
  }
  return {
    live,
    async ended() {
      const reading = { host, live, signal: mcpReq.signal, waitingBytes: limits.waitingBytes }
      const events = followSession(reading, after)
      for (;;) {
        const next = await events.next()
        if (!next.done) continue
        // Cut by the cancellation of the call, which aborts the run.
        return next.value ?? { status: 'aborted', text: '', pending: noPendingWork }
      }
    },
  }
}

/** @throws HttpError 400 for a session of another agent than the tool's */
function checkAgent({ agent }: LiveSession, name: string): void {
  if (agent.name === name) return
  throw new HttpError(400, {
    code: 'invalid-request',
    message: 'The session belongs to another agent.',
    hint: 'Call the tool that returned its id, and send requestState with the arguments of its call.',
  })
}

/** Reports the steps and the calls of a run to a client that asked for it. @returns stops reporting. */
function reportProgress({ feed }: LiveSession, { _meta, notify }: ServerContext['mcpReq']): () => void {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => {}
  let progress = 0
  return feed.listen(({ event }) => {
    const message = progressText(event)
    if (message === undefined) return
    // A client that has left receives nothing more; its run ends by the signal.
    notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } }).catch(
      () => {},
    )
  })
}
