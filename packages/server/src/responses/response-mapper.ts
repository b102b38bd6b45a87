import type { AgentEvent, EventOf, Json, PendingWork } from '@provost/core'
import { assertNever, eventFilter, reasonText, toJson } from '@provost/core'

import { outputText, pieceKind } from '../turns/answer-piece.ts'
import type { TurnMapper } from '../turns/turn-mapper.ts'
import { waitToken } from '../turns/wait-token.ts'
import type { ResponseFrame } from './response-items.ts'
import { createResponseItems } from './response-items.ts'
import type { ResponseItem, ResponseRequest, ResponseStatus } from './response-resource.ts'
import { responseResource, usageOf } from './response-resource.ts'

/** An event of Open Responses. */
export type ResponseEvent = ResponseFrame & { readonly sequence_number: number }

/** The mapper of Open Responses. */
export interface ResponseMapper extends TurnMapper<ResponseEvent> {
  /** Returns the response as far as it is. */
  resource(): { readonly [key: string]: Json }
  /** Returns the event that reports an error of the stream itself. */
  broken(code: string, message: string): ResponseEvent
}

/** What a response shows of a run. */
const isShown = eventFilter(
  ...(['run', 'message', 'text', 'reasoning', 'media', 'tool-input', 'tool-call', 'tool-progress'] as const),
  ...(['model', 'governance'] as const),
)

/**
 * Converts the events of a turn to those of Open Responses. Calls of the server are `mcp_call` items, which no client
 * runs; calls of the client's tools are `function_call` items.
 *
 * @param now milliseconds since 1970, for a response without an event.
 */
export function createResponseMapper(request: ResponseRequest, now: () => number): ResponseMapper {
  const { sessionId } = request
  const items = createResponseItems()
  /** Calls that a model has written, with their arguments. */
  const written = new Map<string, { readonly name: string; readonly input: Json }>()
  /** Calls that run here, with the names of their items. */
  const started = new Map<string, ResponseItem>()
  let sequence = 0
  let status: ResponseStatus = 'in_progress'
  let begun: number | undefined
  let completed: number | undefined
  let error: { readonly code: string; readonly message: string } | null = null
  let reason: string | null = null
  let usage: Json = null

  const seconds = (at: number): number => Math.floor(at / 1000)
  const numbered = (given: readonly ResponseFrame[]): readonly ResponseEvent[] =>
    given.map(({ type, ...fields }) => ({ type, sequence_number: sequence++, ...fields }))

  const resource = (): { readonly [key: string]: Json } =>
    responseResource(request, {
      status,
      createdAt: seconds(begun ?? now()),
      completedAt: completed === undefined ? null : seconds(completed),
      output: items.output,
      error,
      reason,
      usage,
    })

  function start(at: number): readonly ResponseFrame[] {
    if (begun !== undefined) return []
    begun = at
    const response = resource()
    return [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]
  }

  function callItem(callId: string, name: string, input: Json): ResponseItem {
    const call = { id: waitToken('mcp', { sessionId, id: callId }), type: 'mcp_call', server_label: 'provost', name }
    return { ...call, arguments: JSON.stringify(input), status: 'in_progress', output: null, error: null }
  }

  function runs(callId: string, name: string, input: Json): readonly ResponseFrame[] {
    if (started.has(callId)) return []
    const item = callItem(callId, name, input)
    started.set(callId, item)
    const added = items.begin(item)
    const place = items.placeOf(item.id)
    return [
      ...added,
      { type: 'response.mcp_call_arguments.done', ...place, arguments: JSON.stringify(input) },
      { type: 'response.mcp_call.in_progress', ...place },
    ]
  }

  function settled(callId: string, output: string | null, failure: string | null): readonly ResponseFrame[] {
    const call = written.get(callId)
    const before = call && !started.has(callId) ? runs(callId, call.name, call.input) : []
    const item = started.get(callId)
    if (!item) return before
    started.delete(callId)
    written.delete(callId)
    const done = failure === null ? 'completed' : 'failed'
    return [
      ...before,
      ...items.end({ ...item, status: done, output, error: failure }, [
        { type: `response.mcp_call.${done}`, ...items.placeOf(item.id) },
      ]),
    ]
  }

  /** Returns the questions of a suspended run. The same run may repeat them in a later response. */
  function questions({ approvals, remoteCalls, uncertain, inputs }: PendingWork): readonly ResponseFrame[] {
    const asked = (id: string): string => waitToken('ask', { sessionId, id })
    return [
      ...approvals.flatMap(({ id, toolName: name, input, ...question }) =>
        items.whole({
          id: asked(id),
          type: 'mcp_approval_request',
          server_label: 'provost',
          name,
          arguments: JSON.stringify(input),
          reason: reasonText(question),
        }),
      ),
      ...remoteCalls.flatMap(({ callId, toolName: name, input }) => functionCall(callId, name, input)),
      ...inputs.flatMap(({ id, toolName: name, message, schema }) =>
        items.whole({
          id: asked(id),
          type: 'provost:input_request',
          status: 'completed',
          name,
          message,
          schema: toJson(schema ?? null),
        }),
      ),
      ...uncertain.flatMap(({ callId, toolName: name, input }) =>
        items.whole({
          id: asked(callId),
          type: 'provost:uncertain',
          status: 'completed',
          name,
          arguments: JSON.stringify(input),
        }),
      ),
    ]
  }

  function functionCall(callId: string, name: string, input: Json): readonly ResponseFrame[] {
    const id = waitToken('call', { sessionId, id: callId })
    const item = { id: waitToken('fc', { sessionId, id: callId }), type: 'function_call', call_id: id, name }
    const text = JSON.stringify(input)
    const added = items.begin({ ...item, arguments: '', status: 'in_progress' })
    const place = items.placeOf(item.id)
    return [
      ...added,
      ...items.end({ ...item, arguments: text, status: 'completed' }, [
        { type: 'response.function_call_arguments.delta', ...place, delta: text },
        { type: 'response.function_call_arguments.done', ...place, name, arguments: text },
      ]),
    ]
  }

  function answered({ messageId, attempt, message, discarded }: EventOf<'message.end'>): readonly ResponseFrame[] {
    if (message.role !== 'assistant') return []
    const answer = `${messageId}/${attempt}`
    if (discarded) return items.discard(answer)
    for (const part of message.content) {
      if (part.type === 'tool-call' && !part.providerExecuted)
        written.set(part.callId, { name: part.toolName, input: part.input })
    }
    const texts = message.content.flatMap((part) =>
      part.type === 'text' || part.type === 'reasoning' ? [{ kind: part.type, text: part.text }] : [],
    )
    return items.rest(
      answer,
      texts.filter(({ text }) => text !== ''),
    )
  }

  function ended({
    status: its,
    text,
    usage: spent,
    error: failure,
    at,
  }: EventOf<'agent.end'>): readonly ResponseFrame[] {
    usage = usageOf(spent)
    if (its === 'failed') {
      error = { code: failure?.code ?? 'failed', message: failure?.message ?? 'The run failed.' }
      return close('failed', at)
    }
    if (its === 'aborted') {
      reason = 'aborted'
      return close('incomplete', at)
    }
    // An answer that no model wrote, such as that of a fan-out.
    const isSilent = its === 'completed' && text !== '' && !items.output.some(({ type }) => type === 'message')
    const said = isSilent ? items.close('run', 'text', '0', text) : []
    return [...said, ...close('completed', at)]
  }

  function close(as: ResponseStatus, at: number | undefined): readonly ResponseFrame[] {
    const left = items.closeAll()
    const calls = [...started.values()].flatMap((item) => items.end({ ...item, status: 'incomplete' }))
    started.clear()
    status = as
    completed = at ?? now()
    return [...left, ...calls, { type: `response.${as}`, response: resource() }]
  }

  function frames(event: AgentEvent): readonly ResponseFrame[] {
    // Events of child runs are hidden; the call that started the child shows its result.
    if (event.parents.length > 0 || !isShown(event)) return []
    switch (event.type) {
      case 'text.start':
      case 'reasoning.start':
        return items.open(answerOf(event), pieceKind(event), event.partId)
      case 'text.delta':
      case 'reasoning.delta':
        return items.write(answerOf(event), pieceKind(event), event.partId, event.delta)
      case 'text.end':
      case 'reasoning.end':
        return items.close(answerOf(event), pieceKind(event), event.partId, event.text)
      case 'message.end':
        return answered(event)
      case 'source.cited': {
        const { url, title = '' } = event
        if (url === undefined) return []
        const cited = { type: 'url_citation', url, title, start_index: 0, end_index: 0 }
        return items.annotate(answerOf(event), cited) ?? []
      }
      case 'file.generated': {
        const { data, mediaType } = event.file
        const url =
          data.type === 'data' ? `data:${mediaType};base64,${data.data}` : data.type === 'url' ? data.url : null
        return items.whole({
          id: `file_${event.id}`,
          type: 'provost:file',
          status: 'completed',
          media_type: mediaType,
          url,
        })
      }
      case 'tool.call.end':
        if (!event.providerExecuted) written.set(event.callId, { name: event.toolName, input: event.input })
        return []
      case 'tool.execute.start':
        // A call inside another tool belongs to that tool.
        return event.parentCallId === undefined ? runs(event.callId, event.toolName, event.input) : []
      case 'tool.execute.end':
        return settled(event.callId, outputText(event.output), null)
      case 'tool.execute.error':
        return settled(event.callId, null, event.error.message)
      case 'tool.skipped':
        return settled(event.callId, null, event.reason)
      case 'tool.execute.progress':
        return [{ type: 'provost:progress', name: event.toolName, data: toJson(event.data) }]
      case 'agent.suspended':
        return questions(event.pending)
      case 'agent.error':
        return [{ type: 'provost:notice', code: event.error.code, message: event.error.message }]
      case 'model.fallback':
        return [{ type: 'provost:notice', code: event.type, message: `${event.from} is replaced by ${event.to}.` }]
      case 'model.retry':
        return [{ type: 'provost:notice', code: event.type, message: `${event.model} is asked again.` }]
      case 'governance.blocked':
      case 'governance.flagged':
        return [{ type: 'provost:governance', event: event.type, rule: event.rule }]
      case 'agent.end':
        return ended(event)
      case 'agent.start':
      case 'agent.resumed':
      case 'message.start':
      case 'tool.call.start':
      case 'tool.call.delta':
      case 'tool.execute.partial':
      case 'tool.uncertain':
      case 'context.compacted':
      case 'governance.declassified':
        return []
      default:
        return assertNever(event)
    }
  }

  return {
    resource,
    broken: (code, message) => ({
      type: 'error',
      sequence_number: sequence++,
      error: { type: 'server_error', code, message, param: null },
      ...{ code, message, param: null },
    }),
    take(event) {
      const first = start(event.at)
      return numbered([...first, ...frames(event)])
    },
    finish() {
      return status === 'in_progress' ? numbered([...start(now()), ...close('completed', undefined)]) : []
    },
  }
}

function answerOf({ messageId, attempt }: { readonly messageId: string; readonly attempt: number }): string {
  return `${messageId}/${attempt}`
}
