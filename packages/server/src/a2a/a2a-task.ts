import type { Artifact, Part, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk'
import { logEvents } from '@provost/agent'
import type { AgentEvent, ErrorInfo, Json, PendingWork, Timestamp } from '@provost/core'
import { displayText, noPendingWork, reasonText, uuidv7 } from '@provost/core'

import type { ExecuteComplete } from '../sessions/completion.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import type { A2aSdk } from './a2a-sdk.ts'

/** A run as a task of A2A; the session is its context. */
export interface TaskView {
  readonly sessionId: string
  readonly runId: string
  readonly status: 'running' | 'suspended' | 'completed' | 'failed' | 'aborted'
  readonly text: string
  readonly output?: Json | undefined
  readonly pending: PendingWork
  readonly error?: ErrorInfo | undefined
  /** Time of its last update, in milliseconds. */
  readonly at: number
}

/** The store of tasks, and the redaction for clients. */
type TaskHost = Pick<SessionHost, 'store' | 'redaction'>

/** Returns the id of a task. It contains the session id, so that any process finds the log. */
export function taskId({ sessionId, runId }: { sessionId: string; runId: string }): string {
  return `${sessionId}:${runId}`
}

export function placeOf(id: string): { sessionId: string; runId: string } | undefined {
  const cut = id.lastIndexOf(':')
  if (cut < 1 || id.length > 1_000) return undefined
  return { sessionId: id.slice(0, cut), runId: id.slice(cut + 1) }
}

/** Reads a run from the log of its session. */
export async function readTask(host: TaskHost, sessionId: string, runId: string): Promise<TaskView | undefined> {
  return (await readTasks(host, sessionId)).find((view) => view.runId === runId)
}

/** Reads the runs of a session, in the order of their start. */
export async function readTasks({ store, redaction }: TaskHost, sessionId: string): Promise<readonly TaskView[]> {
  const log = logEvents(sessionId)
  const views = new Map<string, TaskView>()
  const see = (event: AgentEvent): void => {
    const { runId, at } = event
    const begun: TaskView = { sessionId, runId, status: 'running', text: '', pending: noPendingWork, at }
    const view = views.get(runId) ?? begun
    if (event.type === 'agent.resumed') views.set(runId, begun)
    else if (event.type === 'agent.suspended') views.set(runId, { ...view, pending: event.pending, at })
    else if (event.type === 'agent.end') {
      const { status, text, output, error } = event
      views.set(runId, { ...view, status, text, output, error, at })
    } else views.set(runId, { ...view, at })
  }
  for await (const entry of store.read(sessionId)) for (const { event } of log.take(entry)) see(redaction.event(event))
  for (const { event } of log.end()) see(redaction.event(event))
  return [...views.values()]
}

/** Returns the task of a run that a stream followed to its end. */
export function completedTask(complete: ExecuteComplete, runId: string, at: Timestamp): TaskView {
  const { sessionId, status, text, output, pending, error } = complete
  return { sessionId, runId, status: status === 'idle' ? 'running' : status, text, output, pending, error, at }
}

const noMetadata = { metadata: undefined }

export function toTask(sdk: A2aSdk, view: TaskView): Task {
  const artifact = artifactOf(view)
  return {
    id: taskId(view),
    contextId: view.sessionId,
    status: statusOf(sdk, view),
    artifacts: artifact ? [artifact] : [],
    history: [],
    ...noMetadata,
  }
}

/** Returns the A2A state of each run status. */
export function taskStates({ TaskState }: A2aSdk): Readonly<Record<TaskView['status'], TaskStatus['state']>> {
  return {
    running: TaskState.TASK_STATE_WORKING,
    suspended: TaskState.TASK_STATE_INPUT_REQUIRED,
    completed: TaskState.TASK_STATE_COMPLETED,
    failed: TaskState.TASK_STATE_FAILED,
    aborted: TaskState.TASK_STATE_CANCELED,
  }
}

function statusOf(sdk: A2aSdk, view: TaskView): TaskStatus {
  const { Role } = sdk
  const parts = statusParts(view)
  return {
    state: taskStates(sdk)[view.status],
    timestamp: new Date(view.at).toISOString(),
    message:
      parts.length === 0
        ? undefined
        : {
            messageId: uuidv7(),
            contextId: view.sessionId,
            taskId: taskId(view),
            role: Role.ROLE_AGENT,
            parts,
            extensions: [],
            referenceTaskIds: [],
            ...noMetadata,
          },
  }
}

function statusParts({ status, pending, error }: TaskView): Part[] {
  if (status === 'failed' && error) return [textPart(`${error.code}: ${error.message}`)]
  if (status !== 'suspended') return []
  const questions = [
    ...pending.approvals.map((one) => `${displayText(one.toolName)} waits for approval: ${reasonText(one)}`),
    ...pending.inputs.map(({ message }) => displayText(message, { lines: true })),
    ...pending.remoteCalls.map(({ toolName }) => `${displayText(toolName)} waits for its result`),
    ...pending.uncertain.map(({ toolName }) => `${displayText(toolName)} has an unknown outcome`),
  ]
  return [textPart(questions.join('\n')), dataPart({ pending })]
}

function artifactOf({ status, text, output }: TaskView): Artifact | undefined {
  if (text === '' && status !== 'completed') return undefined
  const structured = output !== undefined && typeof output !== 'string'
  return answer(structured ? [textPart(text), dataPart(output)] : [textPart(text)])
}

function answer(parts: Part[]): Artifact {
  return { artifactId: 'answer', name: 'answer', description: '', parts, extensions: [], ...noMetadata }
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, filename: '', mediaType: 'text/plain', ...noMetadata }
}

function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, filename: '', mediaType: 'application/json', ...noMetadata }
}

/** Converts deltas to artifact updates. The first delta of a message replaces the text of an earlier message. */
export function growingAnswer(place: { sessionId: string; runId: string }): (event: AgentEvent) => StreamResponse[] {
  let last: string | undefined
  return (event) => {
    if (event.type !== 'text.delta' || event.runId !== place.runId || event.delta === '') return []
    const message = `${event.messageId}/${event.attempt}`
    const append = message === last
    last = message
    return [artifactUpdate(place, answer([textPart(event.delta)]), append, false)]
  }
}

/** Returns the last updates of a task: the whole answer, which replaces the deltas, and the status. */
export function lastUpdates(sdk: A2aSdk, view: TaskView): StreamResponse[] {
  const artifact = artifactOf(view)
  return [
    ...(artifact ? [artifactUpdate(view, artifact, false, true)] : []),
    {
      payload: {
        $case: 'statusUpdate',
        value: { taskId: taskId(view), contextId: view.sessionId, status: statusOf(sdk, view), ...noMetadata },
      },
    },
  ]
}

function artifactUpdate(
  place: { sessionId: string; runId: string },
  artifact: Artifact,
  append: boolean,
  lastChunk: boolean,
): StreamResponse {
  const value = { taskId: taskId(place), contextId: place.sessionId, artifact, append, lastChunk, ...noMetadata }
  return { payload: { $case: 'artifactUpdate', value } }
}
