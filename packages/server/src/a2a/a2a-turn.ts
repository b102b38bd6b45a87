import type { Message, Part } from '@a2a-js/sdk'
import type { Decisions, PendingWork, Principal } from '@provost/core'
import { isRecord } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import { decisionsSchema, sendSchema } from '../http/request-schema.ts'
import { keyToken } from '../requests/idempotency.ts'
import { decisionsOf, toInput } from '../requests/request-decisions.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf } from '../sessions/session-end.ts'
import type { SessionEvents } from '../sessions/session-reader.ts'
import { followSession, readRun } from '../sessions/session-reader.ts'
import type { A2aSdk } from './a2a-sdk.ts'
import type { TaskView } from './a2a-task.ts'
import { placeOf, readTask } from './a2a-task.ts'

/** An accepted A2A message: its task and its effect. */
export interface A2aTurn {
  readonly live: LiveSession
  readonly runId: string
  /** Whether the message begins the task, which may still be rejected. */
  readonly isNew: boolean
  /** Whether the message begins the session, which is removed if the run is rejected. */
  readonly begins?: boolean
  readonly events: SessionEvents
}

/** The principal, the agent and the request of an A2A call. */
export interface A2aRequest {
  readonly sdk: A2aSdk
  readonly agent: string
  readonly principal: Principal
  readonly setup: OperationSetup
  readonly request: Request
}

/** Opens the task of an id, if it belongs to the principal and the agent. */
export async function openTask(
  { sdk, agent, principal, setup: { host } }: A2aRequest,
  id: string,
): Promise<{ live: LiveSession; view: TaskView }> {
  const place = placeOf(id)
  const live = place && (await host.open(principal, place.sessionId))
  const view = live?.agent.name === agent && (await readTask(host, place?.sessionId ?? '', place?.runId ?? ''))
  if (!live || !view) throw new sdk.TaskNotFoundError('The task does not exist.')
  return { live, view }
}

/** Handles a message: starts a run, steers one, or answers its pending work. */
export async function takeMessage(a2aRequest: A2aRequest, message: Message, signal: AbortSignal): Promise<A2aTurn> {
  const { sdk, setup, agent, principal } = a2aRequest
  const { host, allow, limits, decisionService } = setup
  const reading = { host, signal, waitingBytes: limits.waitingBytes }

  if (message.taskId !== '') {
    const { live, view } = await openTask(a2aRequest, message.taskId)
    const { runId, status } = view
    if (status !== 'running' && status !== 'suspended') {
      throw new sdk.UnsupportedOperationError(
        'The task is over. Send the message with its contextId and without its taskId.',
      )
    }
    const after = await endOf(host.store, live.id)
    if (status === 'running') {
      await allow(principal, { kind: 'send', sessionId: live.id })
      const key = keyToken(principal, message.messageId)
      await host.send(live, inputOf(message), { mode: 'steer', key })
    } else {
      const answers = answersIn(message, view.pending, principal)
      await host.decide(live, await decisionService.check(principal, { live, requester: principal }, answers, 'a2a'))
    }
    return { live, runId, isNew: false, events: followSession({ ...reading, live }, after) }
  }

  const input = inputOf(message)
  await allow(
    principal,
    message.contextId === '' ? { kind: 'run', agent } : { kind: 'send', sessionId: message.contextId },
  )
  const admitted = host.admit(principal)
  try {
    const begins = message.contextId === ''
    const live = begins ? await host.begin(principal, { agent }) : await host.open(principal, message.contextId)
    if (live.agent.name !== agent) throw malformed('The context belongs to another agent.', 'Remove the contextId.')
    if (live.session.status === 'suspended') {
      throw malformed('A task of the context waits for decisions.', 'Answer with its taskId, or cancel it.')
    }
    const { run, events } = readRun({ ...reading, live }, () => host.start(live, input, {}))
    return { live, runId: run.runId, isNew: true, begins, events }
  } finally {
    admitted()
  }
}

function inputOf({ parts }: Message): ReturnType<typeof toInput> {
  const checked = sendSchema.safeParse({ input: parts.map(partOf) })
  if (checked.success) return toInput(checked.data.input)
  throw malformed('The message has no part that the agent supports.', 'Send text, files or data, up to 100 parts.')
}

function partOf({ content, mediaType, filename }: Part): unknown {
  if (content?.$case === 'text') return { type: 'text', text: content.value }
  if (content?.$case === 'data') return { type: 'text', text: JSON.stringify(content.value) ?? 'null' }
  const file = {
    type: 'file',
    mediaType: mediaType === '' ? 'application/octet-stream' : mediaType,
    ...(filename !== '' && { filename }),
  }
  if (content?.$case === 'url') return { ...file, data: { type: 'url', url: content.value } }
  return content && { ...file, data: { type: 'data', data: Buffer.from(content.value).toString('base64') } }
}

/** Returns the decisions in a message: data in the form of the other routes, or for approvals alone one word. */
function answersIn({ parts }: Message, { approvals }: PendingWork, principal: Principal): Decisions {
  const data = parts.flatMap(({ content }) =>
    content?.$case === 'data' && isRecord(content.value) ? [content.value] : [],
  )
  const checked = decisionsSchema.safeParse(Object.assign({}, ...data))
  const decisions = checked.success ? decisionsOf(checked.data, principal) : undefined
  if (decisions) return decisions
  const said = parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
  const word = said.trim().toLowerCase()
  if ((word === 'approve' || word === 'deny') && approvals.length > 0) {
    return { approvals: approvals.map(({ id }) => ({ id, decision: word, by: principal.id })) }
  }
  throw malformed(
    'The task waits for decisions.',
    'Send data with `approvals`, `batches`, `inputs`, `toolResults` or `uncertain`, or the text `approve` or `deny`.',
  )
}

function malformed(message: string, hint: string): HttpError {
  return new HttpError(400, { code: 'invalid-request', message, hint })
}
