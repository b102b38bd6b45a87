import type { Label, Message, Part, TimedOperationOf } from '@provost/core'
import { isPromise, joinLabels, positionId, scrubParts, untrustedLabel } from '@provost/core'
import type { AnyModel, ModelAnswer, StreamChunk } from '@provost/provider'
import { callModel, messageTokens, modelName, withCachePoints } from '@provost/provider'
import { jsonSchemaOf } from '@provost/tools'

import { aroundModel } from '../hooks/around-model.ts'
import { tailMessages } from '../inbox/enter-messages.ts'
import { promptFor } from '../prompt/prompt.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { RunEnding } from '../types/run-ending.ts'
import type { SessionState } from '../types/session-state.ts'
import type { PreparedRequest } from './model-request.ts'
import { sentLabel } from './model-request.ts'
import type { StreamEvents } from './stream-events.ts'
import { streamEvents } from './stream-events.ts'

/** One attempt at a model call and its outcome. */
export interface ModelAttempt {
  /** `provider/model` of the model. */
  readonly model: string
  readonly message: Message
  readonly answer: ModelAnswer
  /** The joined label of everything in the request. */
  readonly sent: Label
  readonly pieces: StreamEvents
}

/** Calls a model once. */
export async function attemptModel(
  ctx: RunContext,
  model: AnyModel,
  request: PreparedRequest,
  { output }: StepRequest,
): Promise<ModelAttempt> {
  // Recorded for authorization: a model may call a tool that this request does not offer.
  ctx.offeredTools = request.offered
  ctx.promotedTools = request.promoted
  const { agent, id, step } = ctx
  const name = modelName(model)
  const messageId = positionId(id, step, 'message', ctx.attempt)
  const key = `${id}/${step}`
  const tail = request.tail.length > 0 ? tailMessages(request.tail, ctx.state.clock, key) : undefined
  const shown = [...(tail ? [tail.label] : []), ...(agent.reading ? [agent.reading] : [])]
  const label = shown.length > 0 ? joinLabels(ctx.state.viewLabel, ...shown) : ctx.state.viewLabel
  const sent = sentLabel(ctx, request.tail)
  const built = promptFor(ctx, name)
  const prompt = isPromise(built) ? await built : built
  const pieces = streamEvents(ctx, messageId, request.hold)
  // If the run ends from here on, this message ends with it.
  ctx.partialMessage = {
    id: messageId,
    role: 'assistant',
    content: [],
    label,
    agent: ctx.state.agent,
    createdAt: ctx.state.clock.now(),
  }
  const responseFormat = output === undefined ? agent.responseFormat : formatOf(output)
  const call = (): Promise<ModelAnswer> =>
    callModel(
      {
        model,
        ...withCachePoints({
          model,
          prompt: prompt.build(tail?.messages),
          settings: request.settings,
          lasting: prompt.length,
          key: ctx.sessionId,
        }),
        label: sent,
        tools: request.tools,
        ...(responseFormat && { responseFormat }),
        signal: ctx.signal,
        clock: ctx.state.clock,
        inputTokens: () => requestTokens(ctx, request),
        callId: (index) => positionId(id, step, 'call', index),
        ...(agent.toolName && { toolName: agent.toolName }),
      },
      emit,
    )
  let spoken = 0
  let over: RunEnding | undefined
  const emit = (piece: StreamChunk): void => {
    if ('delta' in piece) {
      spoken += piece.delta.length
      over = ctx.tree.meter.refusal({ host: spoken, log: spoken })
      if (over) throw over
    }
    pieces.emit(piece)
  }
  const op: TimedOperationOf<'model'> = {
    kind: 'model',
    id: messageId,
    parent: key,
    step,
    model: name,
    attempt: ctx.attempt,
    settings: request.settings,
    label: sent,
  }
  const given = await aroundModel(ctx, op, call)
  if (over) throw over
  // Secrets in arguments stay tokens for hashes, hooks and the log. Only the executor restores them.
  const parts = scrubParts(ctx.secrets.scrubber, given.parts)
  const answer = parts === given.parts ? given : { ...given, parts }
  const message = assistantMessage(ctx.state, messageId, label, parts)
  // Kept as partial if the run ends before the answer is recorded, unless a hook holds it back.
  if (parts.length > 0 && !isHeldBack(pieces, request.hold)) ctx.partialMessage = message
  return { model: name, message, answer, sent, pieces }
}

/** Returns whether an answer is held back, as a whole or from its first link on. */
export function isHeldBack(pieces: StreamEvents, hold: PreparedRequest['hold']): boolean {
  return hold === 'links' ? pieces.holds() : hold !== undefined
}

/** Estimates the tokens of a request of this step. Each message is counted once in a run. */
export function requestTokens(ctx: RunContext, { tail }: Pick<PreparedRequest, 'tail'>): number {
  // The run's own tail is counted with the messages; hooks append to it.
  const added = tail.slice(ctx.state.run?.ephemeralMessages.length ?? 0)
  const beside = added.length > 0 ? tailMessages(added, ctx.state.clock, ctx.id).messages : []
  return beside.reduce(
    (sum, message) => sum + messageTokens(message),
    ctx.contextSize.messages(ctx) + ctx.contextSize.overhead(ctx),
  )
}

/** Returns the response format of a step that overrides the agent's output. */
function formatOf(output: NonNullable<StepRequest['output']>): ResolvedAgent['responseFormat'] {
  return output === 'text' ? undefined : { schema: jsonSchemaOf(output), name: 'output' }
}

function assistantMessage({ agent, clock }: SessionState, id: string, view: Label, spoken: readonly Part[]): Message {
  const [parts, label] = withProviderResults(spoken, view)
  const message = { id, role: 'assistant', content: parts, label, agent, createdAt: clock.now() } as const
  // Providers reject an assistant message that ends with reasoning.
  const last = parts.at(-1)?.type
  return last === 'reasoning' || last === 'reasoning-file' ? { ...message, partial: true } : message
}

/** Labels results of provider-executed tools as untrusted, and the whole message with them. */
function withProviderResults(parts: readonly Part[], view: Label): readonly [parts: readonly Part[], label: Label] {
  if (!parts.some((part) => part.type === 'tool-result')) return [parts, view]
  let label = view
  const labelled = parts.map((part) => {
    if (part.type !== 'tool-result') return part
    const own = joinLabels(untrustedLabel(part.toolName), view)
    label = joinLabels(label, own)
    return { ...part, label: own }
  })
  return [labelled, label]
}
