import type { Label, Message, Part, TimedOperationOf } from '@provost/core'
import { joinLabels, positionId, scrubParts, untrustedLabel } from '@provost/core'
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
import type { PreparedRequest } from './model-request.ts'
import { sentLabel } from './model-request.ts'
import type { StreamEvents } from './stream-events.ts'
import { streamEvents } from './stream-events.ts'

/** One attempt and what came of it. */
export interface ModelAttempt {
  readonly model: AnyModel
  readonly message: Message
  readonly answer: ModelAnswer
  /** The join over all that was sent. */
  readonly sent: Label
  readonly pieces: StreamEvents
}

/** Asks a model once. */
export async function attemptModel(
  scope: RunContext,
  model: AnyModel,
  request: PreparedRequest,
  { output }: StepRequest,
): Promise<ModelAttempt> {
  // A model may call by name what it was not shown this time.
  scope.offered = request.offered
  scope.promoted = request.promoted
  const { plan, id, step } = scope
  const messageId = positionId(id, step, 'message', scope.attempt)
  const key = `${id}/${step}`
  const tail = request.tail.length > 0 ? tailMessages(request.tail, key) : undefined
  const shown = [...(tail ? [tail.label] : []), ...(plan.reading ? [plan.reading] : [])]
  const label = shown.length > 0 ? joinLabels(scope.state.viewLabel, ...shown) : scope.state.viewLabel
  const sent = sentLabel(scope, request.tail)
  const prompt = promptFor(scope, modelName(model))
  const pieces = streamEvents(scope, messageId, request.hold)
  // Whatever ends the run from here on ends this message too.
  scope.partial = {
    id: messageId,
    role: 'assistant',
    content: [],
    label,
    agent: scope.state.agent,
    createdAt: Date.now(),
  }
  const responseFormat = output === undefined ? plan.responseFormat : formatOf(output)
  const call = (): Promise<ModelAnswer> =>
    callModel(
      {
        model,
        ...withCachePoints({
          model,
          prompt: prompt.build(tail?.messages),
          settings: request.settings,
          lasting: prompt.length,
          key: scope.sessionId,
        }),
        label: sent,
        tools: request.tools,
        ...(responseFormat && { responseFormat }),
        signal: scope.signal,
        inputTokens: () => requestTokens(scope, request),
        callId: (index) => positionId(id, step, 'call', index),
        ...(plan.toolName && { toolName: plan.toolName }),
      },
      emit,
    )
  let spoken = 0
  let over: RunEnding | undefined
  const emit = (piece: StreamChunk): void => {
    if ('delta' in piece) {
      spoken += piece.delta.length
      over = scope.tree.meter.refusal({ host: spoken, log: spoken })
      if (over) throw over
    }
    pieces.emit(piece)
  }
  const op: TimedOperationOf<'model'> = {
    kind: 'model',
    id: messageId,
    parent: key,
    step,
    model: modelName(model),
    attempt: scope.attempt,
    settings: request.settings,
  }
  const given = await aroundModel(scope, op, call)
  if (over) throw over
  // Arguments are hashed, judged and logged as tokens: only the executor makes values of them.
  const parts = scrubParts(scope.secrets.scrubber, given.parts)
  const answer = parts === given.parts ? given : { ...given, parts }
  const message = said(scope.state.agent, messageId, label, parts)
  // Should the run be ended before the answer counts, this much was said; what is held back is nobody's to read yet.
  if (parts.length > 0 && !request.hold) scope.partial = message
  return { model, message, answer, sent, pieces }
}

/** About how many tokens a request of this step is: each message is counted once in a run. */
export function requestTokens(scope: RunContext, { tail }: Pick<PreparedRequest, 'tail'>): number {
  // The run's own tail is counted with the rest; hooks add theirs behind it.
  const added = tail.slice(scope.state.run?.tail.length ?? 0)
  const beside = added.length > 0 ? tailMessages(added, scope.id).messages : []
  return beside.reduce(
    (sum, message) => sum + messageTokens(message),
    scope.size.messages(scope) + scope.size.beside(scope),
  )
}

/** What a step is asked for instead of the agent's output. */
function formatOf(output: NonNullable<StepRequest['output']>): ResolvedAgent['responseFormat'] {
  return output === 'text' ? undefined : { schema: jsonSchemaOf(output), name: 'output' }
}

function said(agent: string, id: string, view: Label, spoken: readonly Part[]): Message {
  const [parts, label] = withProviderResults(spoken, view)
  const message = { id, role: 'assistant', content: parts, label, agent, createdAt: Date.now() } as const
  // Thoughts that led to nothing are no answer that a provider would take back.
  const last = parts.at(-1)?.type
  return last === 'reasoning' || last === 'reasoning-file' ? { ...message, partial: true } : message
}

/** What the provider's own tools found is no word of the model; what it said afterwards was said knowing it. */
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
