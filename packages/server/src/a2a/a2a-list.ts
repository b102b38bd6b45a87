import type { ListTasksRequest, ListTasksResponse } from '@a2a-js/sdk'
import type { SessionInfo } from '@provost/core'

import { readTasks, taskId, taskStates, toTask } from './a2a-task.ts'
import type { TaskView } from './a2a-task.ts'
import type { A2aRequest } from './a2a-turn.ts'

/** The end of a page of tasks: update time and id of its last task. */
interface Mark {
  readonly at: number
  readonly id: string
}

/**
 * Returns the tasks of a principal with one agent, the latest updated first. Only the logs that the page needs are read:
 * `totalSize` counts the found tasks, and one for each unread context.
 */
export async function listTasks(a2aRequest: A2aRequest, request: ListTasksRequest): Promise<ListTasksResponse> {
  const { sdk, setup } = a2aRequest
  const { pageSize = 50, pageToken, status, statusTimestampAfter = '', includeArtifacts = false } = request
  const since = statusTimestampAfter === '' ? 0 : Date.parse(statusTimestampAfter)
  const after = pageToken === '' ? undefined : readMark(pageToken)
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100) {
    throw new sdk.RequestMalformedError('pageSize is not a number from 1 to 100.')
  }
  if (Number.isNaN(since)) throw new sdk.RequestMalformedError('statusTimestampAfter is not a time.')
  if (pageToken !== '' && !after)
    throw new sdk.RequestMalformedError(
      'The page token is not one of this server. Use nextPageToken of the previous page.',
    )
  const matches = (view: TaskView): boolean =>
    (status === sdk.TaskState.TASK_STATE_UNSPECIFIED || taskStates(sdk)[view.status] === status) && view.at >= since
  const contexts = (await contextsOf(a2aRequest, request.contextId)).filter(({ updatedAt }) => updatedAt >= since)
  const found: TaskView[] = []
  let unread = contexts.length
  let oldest = 0
  for (const { id, updatedAt } of contexts) {
    // The unread contexts are older than all tasks of the page.
    if (updatedAt < oldest) break
    unread--
    const views = await readTasks(setup.host, id)
    found.push(...views.filter(matches))
    const behind = found.filter((view) => !after || isBehind(view, after))
    if (behind.length > pageSize) oldest = behind.toSorted(byTime)[pageSize]?.at ?? oldest
  }
  const behind = found.toSorted(byTime).filter((view) => !after || isBehind(view, after))
  const page = behind.slice(0, pageSize)
  const last = page.at(-1)
  return {
    tasks: page.map((view) => {
      const task = toTask(sdk, view)
      return includeArtifacts ? task : { ...task, artifacts: [] }
    }),
    nextPageToken: last && behind.length > page.length ? writeMark({ at: last.at, id: taskId(last) }) : '',
    pageSize: page.length,
    totalSize: found.length + unread,
  }
}

/** Returns the principal's sessions with the agent, the latest updated first. */
async function contextsOf({ agent, principal, setup }: A2aRequest, only: string): Promise<readonly SessionInfo[]> {
  const sessions: SessionInfo[] = []
  for await (const info of setup.host.store.list({ principal: principal.id })) {
    if (info.agent === agent && (only === '' || info.id === only)) sessions.push(info)
  }
  return sessions.toSorted((a, b) => b.updatedAt - a.updatedAt)
}

function byTime(a: TaskView, b: TaskView): number {
  return b.at - a.at || (taskId(a) < taskId(b) ? 1 : -1)
}

function isBehind(view: TaskView, { at, id }: Mark): boolean {
  return view.at < at || (view.at === at && taskId(view) < id)
}

function writeMark({ at, id }: Mark): string {
  return Buffer.from(`${at} ${id}`).toString('base64url')
}

function readMark(token: string): Mark | undefined {
  const [, at, id] = /^(\d{1,15}) (.{1,1000})$/su.exec(Buffer.from(token, 'base64url').toString()) ?? []
  return id === undefined ? undefined : { at: Number(at), id }
}
