import type { Principal } from '@provost/core'
import { isRecord } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import { isCode } from '../http/request-error.ts'
import { frameStream } from '../stream/frame-stream.ts'
import type { A2aAgent } from './a2a-card.ts'
import { agentCard, cardJson } from './a2a-card.ts'
import { a2aHandler } from './a2a-handler.ts'
import { loadA2a } from './a2a-sdk.ts'

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** Returns the card of an agent. @throws HttpError 404 if `@a2a-js/sdk` is not installed. */
export async function answerCard(agent: A2aAgent): Promise<Response> {
  const sdk = await loadA2a()
  return Response.json(cardJson(sdk, agent))
}

/**
 * Answers a JSON-RPC request of A2A for one agent, of version 1.0 or 0.3: the methods of 0.3 have a slash in their
 * names. Tasks are runs, contexts are sessions, and suspended runs are `input-required`.
 *
 * @param body parsed JSON of the request.
 * @throws HttpError 404 if `@a2a-js/sdk` is not installed.
 */
export async function answerA2a(
  request: Request,
  body: unknown,
  agent: A2aAgent,
  principal: Principal,
  setup: OperationSetup,
): Promise<Response> {
  const sdk = await loadA2a()
  if (!isObject(body)) {
    const hint = 'Send one JSON-RPC request.'
    throw new HttpError(400, { code: 'invalid-request', message: 'The body is not a JSON-RPC request.', hint })
  }
  const card = agentCard(sdk, agent)
  const disconnected = new AbortController()
  const handler = a2aHandler({ sdk, agent: agent.name, principal, setup, request }, card, disconnected.signal)
  const method = body['method']
  const isLegacy = typeof method === 'string' && method.includes('/')
  const failed = (thrown: unknown): object => {
    const error = thrown instanceof sdk.A2AError ? thrown : new Error('The server failed to handle the request.')
    const mapped = isLegacy
      ? sdk.LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(error)
      : sdk.JsonRpcTransportHandler.mapToJSONRPCError(error)
    return { jsonrpc: '2.0', id: body['id'] ?? null, error: mapped }
  }
  try {
    const requestedVersion = request.headers.get(sdk.A2A_VERSION_HEADER)
    const context = new sdk.ServerCallContext(requestedVersion === null ? {} : { requestedVersion })
    if (!isLegacy) sdk.validateVersion(context.requestedVersion, card, 'JSONRPC')
    const transport = isLegacy ? sdk.LegacyJsonRpcTransportHandler : sdk.JsonRpcTransportHandler
    const answer = await new transport(handler).handle(body, context)
    if (!(Symbol.asyncIterator in answer)) {
      // The SDK sends the message of an unknown error to the client.
      const error: unknown = 'error' in answer ? answer.error : undefined
      const internal = isCode(error, sdk.A2A_ERROR_CODE.INTERNAL_ERROR)
      return Response.json(internal ? failed(undefined) : answer)
    }
    const iterator = answer[Symbol.asyncIterator]()
    // A request that is rejected before the first event gets a response, not a stream.
    const first = await iterator.next()
    const options = {
      heartbeatMs: setup.limits.heartbeatMs,
      closed: () => disconnected.abort(),
      failed: (thrown: unknown) => setup.report(thrown, { request }),
    }
    return new Response(frameStream(answerFrames(first, iterator, failed), options), { headers })
  } catch (thrown) {
    return Response.json(failed(thrown))
  }
}

/** Yields the answers as frames. An error is the last frame. */
async function* answerFrames(
  first: IteratorResult<unknown, void>,
  rest: AsyncIterator<unknown, void>,
  failed: (thrown: unknown) => object,
): AsyncGenerator<Iterable<string>, void, undefined> {
  const frame = (value: unknown): readonly string[] => [`data: ${JSON.stringify(value)}\n\n`]
  let next = first
  try {
    for (; !next.done; next = await rest.next()) yield frame(next.value)
  } catch (thrown) {
    yield frame(failed(thrown))
  } finally {
    await rest.return?.()
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !Array.isArray(value)
}
