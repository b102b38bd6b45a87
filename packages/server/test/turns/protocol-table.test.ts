import { readFileSync } from 'node:fs'

import type { AgentEvent, EventType, PendingApproval } from '@provost/core'
import { eventTypes, noPendingWork, trustedLabel } from '@provost/core'
import { eventOf } from '@provost/core/test/arbitrary'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { loadA2a } from '../../src/a2a/a2a-sdk.ts'
import { completedTask, growingAnswer, lastUpdates } from '../../src/a2a/a2a-task.ts'
import { createAgUiMapper } from '../../src/ag-ui/ag-ui-mapper.ts'
import { createUiStream } from '../../src/chat/ui-stream.ts'
import { createCompletionMapper } from '../../src/completions/completion-mapper.ts'
import { answerKind, progressText } from '../../src/mcp/mcp-result.ts'
import { createResponseMapper } from '../../src/responses/response-mapper.ts'
import { completionOf } from '../../src/sessions/completion.ts'
import type { TurnMapper } from '../../src/turns/turn-mapper.ts'

const agUi = { threadId: 't', runId: 'r', isCurrent: true, answered: new Set<string>(), messages: [], corrects: false }
const named = { id: 'r', sessionId: 's', model: 'desk' }
const asked = { previous: null, instructions: null, background: false, metadata: {}, tools: [] }
type Mapped = TurnMapper<{ readonly type?: unknown; readonly object?: unknown; readonly error?: unknown }>
const protocols: readonly (() => Mapped)[] = [
  () => createUiStream({ sessionId: 's', runId: 'r', messageId: 'm' }),
  () => createAgUiMapper(agUi),
  () => createResponseMapper({ ...named, ...asked }, () => 0),
  () => createCompletionMapper({ ...named, created: 0, includeUsage: false }),
  () => ({ take: mcpFrames, finish: () => [] }),
  () => ({ take: a2aFrames, finish: () => [] }),
]

const sdk = await loadA2a()
const asks: PendingApproval = {
  ...{ id: 'a', agent: 'desk', callId: 'c', toolName: 'refund', input: {}, reason: 'money' },
  ...{ effect: 'write', roles: {}, label: trustedLabel, runPath: [] },
}

/** What a call of an agent over MCP sends for an event: progress, and its answer at the end. */
function mcpFrames(event: AgentEvent): readonly { readonly type: string }[] {
  if (event.type === 'agent.end') {
    const end = completionOf('s', event, { ...noPendingWork, approvals: [asks] })
    return [true, false].map((canAsk) => ({ type: answerKind(end, canAsk) }))
  }
  return progressText(event) === undefined ? [] : [{ type: 'notifications/progress' }]
}

/** What a stream of A2A sends for an event: pieces of the answer, and its last updates at the end. */
function a2aFrames(event: AgentEvent): readonly { readonly type: string | undefined }[] {
  const { runId } = event
  const sent =
    event.type === 'agent.end'
      ? lastUpdates(sdk, completedTask(completionOf('s', event), runId, 0))
      : growingAnswer({ sessionId: 's', runId })(event)
  return sent.map(({ payload }) => ({ type: payload?.$case }))
}

/** Returns the frames that a protocol has for an event, as a cell of the table. */
function cellOf(mapperOf: () => Mapped, type: EventType, samples: readonly AgentEvent[]): string {
  const types = new Set<string>()
  for (const sample of samples) {
    const mapper = mapperOf()
    // The call of the sample, as a model has written it.
    const call = 'callId' in sample && typeof sample.callId === 'string' ? sample.callId : 'call'
    for (const before of preceding(sample, call)) mapper.take(before)
    for (const { type: its, object, error } of mapper.take({ ...sample, parents: [] })) {
      types.add(nameOf(String(its ?? (error === undefined ? object : 'error'))))
    }
  }
  return types.size === 0 ? '–' : [...types].toSorted().join(', ')
}

/** Names as the table has them: the data of an extension is named after it. */
function nameOf(type: string): string {
  const isOwn = type.startsWith('data-') && !type.startsWith('data-provost-')
  return `\`${isOwn ? 'data-NAME' : type.replace(/^response\./u, '')}\``
}

const base = { seq: 1, id: 's:1.0', runId: 'r', step: 1, agent: 'desk', parents: [], at: 0 }
/** What precedes an event: a run, the text that it continues, and the call that it is of. */
function preceding(sample: AgentEvent, callId: string): readonly AgentEvent[] {
  const { type } = sample
  if (type === 'agent.start' || type === 'agent.resumed') return []
  const start: AgentEvent = { ...base, type: 'agent.start', sessionId: 's', input: [] }
  if (type === 'step.start') return [start]
  if (type === 'text.delta' || type === 'text.end') return [start, { ...sample, parents: [], type: 'text.start' }]
  if (type === 'reasoning.delta' || type === 'reasoning.end')
    return [start, { ...sample, parents: [], type: 'reasoning.start' }]
  const part = { type: 'tool-call' as const, callId, toolCallId: 'c', toolName: 'refund', input: {} }
  const message = { id: 'm', role: 'assistant' as const, content: [part], createdAt: 0 }
  return [
    start,
    { ...base, type: 'step.start', model: 'scripted' },
    { ...base, type: 'message.end', messageId: 'm', attempt: 1, message },
  ]
}

test('the table of the guide has the frames that each protocol sends for each event', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/server.md', import.meta.url), 'utf8')
  const rows = eventTypes.map((type) => {
    const samples = fc.sample(eventOf(type), { numRuns: 20, seed: 1 })
    return [`\`${type}\``, ...protocols.map((one) => cellOf(one, type, samples))]
  })
  const section = guide.slice(guide.indexOf('## Events by protocol'))
  const told = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  expect(told).toEqual(rows)
})
