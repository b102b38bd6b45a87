import type { EffectMark, Json, Message, SessionAccess } from '@provost/core'
import type { ToolRun } from '@provost/tools'

import { idempotencyKeyOf } from '../effects/idempotency-key.ts'
import { ask, canBeAsked } from '../tools/elicitation.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** The context of a tool call. A class, because getters of a literal are slow and most tools use none of them. */
export class CallContext implements ToolRun {
  readonly callId: string
  readonly input: Json
  readonly value: unknown
  readonly signal: AbortSignal
  readonly runtime: ToolRun['runtime']
  readonly context: unknown
  readonly secrets: ToolRun['secrets']
  readonly bridge?: CompositeCall['createBinding']
  readonly ask?: NonNullable<ToolRun['ask']>
  readonly progress: ToolRun['progress']
  readonly partial: ToolRun['partial']
  readonly #ctx: RunContext
  readonly #part: CallState['part']
  readonly #effect: EffectMark | undefined

  constructor(
    ctx: RunContext,
    call: CallState,
    effect: EffectMark | undefined,
    value: unknown,
    signal: AbortSignal,
    compositeCall: CompositeCall | undefined,
  ) {
    const { agent, options, logWriter, step } = ctx
    const { callId, toolName } = call.part
    this.#ctx = ctx
    this.#part = call.part
    this.#effect = effect
    this.callId = callId
    this.input = call.args
    this.value = value
    this.signal = signal
    this.runtime = agent.runtime
    this.context = options.context
    this.secrets = ctx.secrets
    if (compositeCall) this.bridge = compositeCall.createBinding
    const asking: ToolRun['ask'] = (question, at) => ask(ctx, call, question, at)
    const progress: ToolRun['progress'] = (data) =>
      logWriter.emit('tool.execute.progress', { callId, toolName, data }, step)
    const partial: ToolRun['partial'] = (piece) =>
      logWriter.emit('tool.execute.partial', { callId, toolName, ...piece }, step)
    if (canBeAsked(ctx)) this.ask = asking
    this.progress = progress
    this.partial = partial
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.#ctx, { part: this.#part, effect: this.#effect })
  }

  get graceMs(): number {
    return this.#ctx.control.graceMs
  }

  get access(): SessionAccess {
    return this.#ctx.contextFor(this.#ctx.agent.self)
  }

  get messages(): readonly Message[] {
    return historyBefore(this.#ctx.state.view)
  }
}

/** Returns the messages that the model had received when it made the calls of this step. */
function historyBefore(view: readonly Message[]): readonly Message[] {
  const answer = view.findLastIndex(({ role }) => role === 'assistant')
  return Object.freeze(answer < 0 ? [...view] : view.slice(0, answer))
}
