import type { AgentCard, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { clockOf } from '@provost/core'

import { HttpError, isInternal, responseStatus } from '../http/http-error.ts'
import { endOf } from '../sessions/session-end.ts'
import { followSession } from '../sessions/session-reader.ts'
import { listTasks } from './a2a-list.ts'
import { completedTask, growingAnswer, lastUpdates, readTask, toTask } from './a2a-task.ts'
import type { A2aRequest, A2aTurn } from './a2a-turn.ts'
import { openTask, takeMessage } from './a2a-turn.ts'

/**
 * Returns the A2A request handler of one principal and one agent. It keeps no state: tasks are runs, and any process
 * reads their status from the log.
 */
export function a2aHandler(a2aRequest: A2aRequest, card: AgentCard, asked: AbortSignal): A2ARequestHandler {
  const { sdk, principal, setup } = a2aRequest
  const { host, connections, allow, accepting, limits } = setup

  /** Follows the events of a session, counted as one of the principal's streams. */
  async function* following(
    open: (signal: AbortSignal) => Promise<A2aTurn>,
    leave: 'at the end' | 'at once',
  ): AsyncGenerator<StreamResponse, void, undefined> {
    accepting()
    const release = connections.take(principal.id)
    const ended = new AbortController()
    let turn: A2aTurn | undefined
    let control: AbortController | undefined
    try {
      turn = await open(AbortSignal.any([asked, ended.signal]))
      const { live, runId, isNew, events } = turn
      control = connections.control(live.id)
      control.signal.addEventListener('abort', () => ended.abort(), { once: true })
      const place = { sessionId: live.id, runId }
      // A client that reconnects to a silent task receives its state at once.
      let next = isNew ? await events.next() : undefined
      if (next?.done && next.value?.status === 'failed' && !(await readTask(host, live.id, runId))) {
        if (turn.begins) await host.discard(live.id)
        throw new HttpError(400, next.value.error ?? { code: 'refused', message: 'The run was rejected.' })
      }
      const working = {
        ...place,
        status: 'running' as const,
        text: '',
        pending: live.session.pending,
        at: clockOf(host.store).now(),
      }
      yield { payload: { $case: 'task', value: toTask(sdk, working) } }
      if (leave === 'at once') return
      const grow = growingAnswer(place)
      next ??= await events.next()
      while (!next.done) {
        for (const { event } of next.value) yield* grow(event)
        next = await events.next()
      }
      // The stream was cut: the client reconnects for the rest.
      if (!next.value) return
      const own = next.value.runId === runId ? completedTask(next.value, runId, clockOf(host.store).now()) : undefined
      const view = own ?? (await readTask(host, live.id, runId))
      if (view) yield* lastUpdates(sdk, view)
    } catch (thrown) {
      throw translated(a2aRequest, thrown)
    } finally {
      ended.abort()
      if (control) connections.done(control)
      release()
      await turn?.events.return(undefined)
    }
  }

  function taken({ message, configuration }: SendMessageRequest): (signal: AbortSignal) => Promise<A2aTurn> {
    // Dropped in silence, the client would wait for calls that never come.
    if (configuration?.taskPushNotificationConfig) throw pushUnsupported()
    if (!message) throw new sdk.RequestMalformedError('The request has no message.')
    return (signal) => takeMessage(a2aRequest, message, signal)
  }

  async function translating<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      throw translated(a2aRequest, thrown)
    }
  }

  const pushUnsupported = (): Error =>
    new sdk.PushNotificationNotSupportedError('Push notifications are not supported. Stream the task, or call GetTask.')

  const noPush = async (): Promise<never> => {
    throw pushUnsupported()
  }

  return {
    getAgentCard: async () => card,

    async getAuthenticatedExtendedAgentCard() {
      throw new sdk.ExtendedAgentCardNotConfiguredError('The agent has no extended card. Use the agent card.')
    },

    async sendMessage(request) {
      const atOnce = request.configuration?.returnImmediately === true
      let place: string | undefined
      for await (const { payload } of following(taken(request), atOnce ? 'at once' : 'at the end')) {
        if (payload?.$case !== 'task') continue
        if (atOnce) return payload.value
        place = payload.value.id
      }
      return taskAt(place ?? '')
    },

    sendMessageStream: (request) => following(taken(request), 'at the end'),

    getTask: ({ id }) => taskAt(id),

    cancelTask: ({ id }) =>
      translating(async () => {
        const { live, view } = await openTask(a2aRequest, id)
        await allow(principal, { kind: 'abort', sessionId: live.id })
        if (view.status !== 'running' && view.status !== 'suspended') {
          throw new sdk.TaskNotCancelableError('The task is over.')
        }
        await live.session.abort()
        return taskAt(id)
      }),

    resubscribe({ id }) {
      return following(async (signal) => {
        const { live, view } = await openTask(a2aRequest, id)
        await allow(principal, { kind: 'read', sessionId: live.id })
        if (view.status !== 'running' && view.status !== 'suspended') {
          throw new sdk.UnsupportedOperationError('The task is over. Call GetTask instead.')
        }
        const after = await endOf(host.store, live.id)
        const events = followSession({ host, live, signal, waitingBytes: limits.waitingBytes }, after)
        return { live, runId: view.runId, isNew: false, events }
      }, 'at the end')
    },

    listTasks: (request) =>
      translating(async () => {
        await allow(principal, { kind: 'list', agent: a2aRequest.agent })
        return listTasks(a2aRequest, request)
      }),

    createTaskPushNotificationConfig: noPush,
    getTaskPushNotificationConfig: noPush,
    listTaskPushNotificationConfigs: noPush,
    deleteTaskPushNotificationConfig: noPush,
  }

  function taskAt(id: string): Promise<Task> {
    return translating(async () => {
      const { live, view } = await openTask(a2aRequest, id)
      await allow(principal, { kind: 'read', sessionId: live.id })
      return toTask(sdk, view)
    })
  }
}

/** Converts an error to one of A2A, without internal details. */
function translated({ sdk, setup, request }: A2aRequest, thrown: unknown): unknown {
  if (thrown instanceof sdk.A2AError) return thrown
  const { status, error } = responseStatus(thrown)
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`
  if (status === 404) return new sdk.TaskNotFoundError(message)
  if (status < 500) return new sdk.RequestMalformedError(message)
  if (isInternal(thrown)) setup.report(thrown, { request })
  return new Error(message)
}
