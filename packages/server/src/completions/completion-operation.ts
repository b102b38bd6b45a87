import type { Principal } from '@provost/core'
import { clockOf, uuidv7 } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { toHistory } from '../requests/request-decisions.ts'
import type { BegunTurn } from '../turns/begin-turn.ts'
import { beginTurn, continueTurn } from '../turns/begin-turn.ts'
import { checkSession } from '../turns/open-session.ts'
import { streamedTurn, waitForTurn } from '../turns/read-turn.ts'
import { userMessage } from '../turns/user-message.ts'
import type { CompletionInput } from './completion-input.ts'
import { readCompletionInput, toolsIn } from './completion-input.ts'
import type { CompletionChunk, CompletionMapper } from './completion-mapper.ts'
import { createCompletionMapper } from './completion-mapper.ts'
import type { CompletionBody } from './completion-schema.ts'
import { completionAnswer, completionSchema } from './completion-schema.ts'

/** `POST /v1/chat/completions` */
export function completionOperation(setup: OperationSetup): Operation {
  const { host, limits, connections, allow, accepting, allowProviderOptions } = setup

  async function begin(
    principal: Principal,
    body: CompletionBody,
    input: CompletionInput,
    created: (id: string) => void,
  ): Promise<BegunTurn> {
    const wanted = { agent: body.model, tools: toolsIn(body) }
    if (input.kind === 'results') {
      const { sessionId, toolResults } = input
      const live = await host.open(principal, sessionId)
      await allow(principal, { kind: 'send', sessionId })
      await checkSession(host, live, wanted)
      return continueTurn(setup, principal, live, { toolResults })
    }
    const { history, parts } = input
    const messages = history.length > 0 ? toHistory([...history], allowProviderOptions) : undefined
    const live = await host.begin(principal, { id: uuidv7(), ...wanted, messages })
    created(live.id)
    return beginTurn(setup, live, await userMessage(uuidv7(), parts, host.store), false)
  }

  return operation({
    method: 'post',
    path: '/v1/chat/completions',
    operationId: 'createChatCompletion',
    summary: 'Chat Completions of OpenAI: runs the agent named by `model` on a history. Prefer /v1/responses.',
    body: completionSchema,
    mostBytes: limits.chatBytes,
    success: 200,
    answer: completionAnswer,
    async handle({ principal, body, request }) {
      accepting()
      const input = readCompletionInput(body, principal.id)
      host.agentOf(body.model)
      await allow(principal, { kind: 'run', agent: body.model })
      const release = connections.take(principal.id)
      let admitted = (): void => {}
      let isNew: string | undefined
      try {
        admitted = host.admit(principal)
        const begun = await begin(principal, body, input, (id) => (isNew = id))
        const mapper = createCompletionMapper({
          id: `chatcmpl-${uuidv7()}`,
          sessionId: begun.live.id,
          model: body.model,
          created: Math.floor(clockOf(host.store).now() / 1000),
          includeUsage: body.stream_options?.include_usage === true,
        })
        const reading = { setup, request, begun, aborts: true, release }
        if (body.stream) return streamedTurn(reading, completionProtocol(mapper))
        await waitForTurn(reading, mapper)
        return answerOf(mapper, begun.live.id)
      } catch (thrown) {
        release()
        if (isNew !== undefined) await host.discard(isNew)
        throw thrown
      } finally {
        admitted()
      }
    },
  })
}

function answerOf(mapper: CompletionMapper, sessionId: string): Response {
  const completion = mapper.completion()
  if (completion.kind === 'done') return Response.json(completion.body, { headers: { 'x-session-id': sessionId } })
  const { code, message } = completion
  // 502: the run failed, not the server.
  throw new HttpError(502, { code, message, hint: `Session ${sessionId} has the run.` })
}

function completionProtocol(mapper: CompletionMapper): Parameters<typeof streamedTurn<CompletionChunk>>[1] {
  return {
    mapperOf: () => mapper,
    encode: (chunk) => `data: ${JSON.stringify(chunk)}\n\n`,
    broken: (code, message) => ({ error: { type: 'server_error', code, message, param: null } }),
    tail: 'data: [DONE]\n\n',
  }
}
