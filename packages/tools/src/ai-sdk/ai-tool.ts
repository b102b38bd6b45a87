import type { FlexibleSchema, ModelMessage, ToolSet } from '@ai-sdk/provider-utils'
import type {
  ArgRole,
  Effect,
  HookContext,
  LabelInit,
  MaybePromise,
  Message,
  ReadonlyJsonSchema,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolInputListener,
  ToolOutput,
} from '@provost/core'
import { ProvostError, checkLabel, checkOptions, isPromise, isRecord, parseWith, toErrorInfo } from '@provost/core'
import { fromModelMessages, toModelMessages } from '@provost/provider'

import { invalidTool, makeTool } from '../definition/define-tool.ts'
import { fixLabel } from '../definition/result-label.ts'
import { rich } from '../definition/rich.ts'
import { checkExamples } from '../definition/tool-example.ts'
import { cachingOf, checkWord, pointerIn, rolesOf, timeoutOf } from '../definition/tool.ts'
import type { AiSchema } from './ai-schema.ts'
import { aiSchema, asStandard, isAiSchema } from './ai-schema.ts'
import { aiMoreKeys, aiToolKeys, movedAiKeys } from './known-ai-options.ts'

/** A tool of the AI SDK, as `tool()`, `dynamicTool()` and the provider packages make them. */
export type AiTool = ToolSet[string]

/** What the definition of an AI SDK tool lacks. */
export interface AiToolMore {
  /** Default `egress`, since the effect is unknown. */
  readonly effect?: Effect
  /** The meaning of arguments for policies, by key or JSON pointer. */
  readonly args?: Readonly<Record<string, ArgRole>>
  /** The label of its results. Default: untrusted, internal. */
  readonly returns?: LabelInit
  /** JSON pointers of fields of its results that no outsider can write, such as `/id`. */
  readonly trustedFields?: readonly string[]
  /** Milliseconds. Default 60,000. */
  readonly timeoutMs?: number
  readonly idempotent?: boolean
  readonly executionMode?: 'parallel' | 'sequential'
  readonly cache?: boolean | { readonly ttlMs?: number; readonly share?: 'session' | 'agent' }
}

/** A tool in the shape of the AI SDK, with a plain JSON Schema. Its input is checked before `execute` receives it. */
export interface PlainTool {
  readonly title?: string
  readonly description?: string
  readonly inputSchema: ReadonlyJsonSchema
  readonly execute?: (input: never, options: never) => unknown
}

/** Returns whether a value is a tool of the AI SDK, and neither a Provost tool nor a set. */
export function isAiTool(value: unknown): value is AiTool {
  return isRecord(value) && !('~tool' in value) && isAiSchema(value['inputSchema'])
}

/**
 * Returns an AI SDK tool as a Provost tool. Agents accept AI SDK tools directly; use this function to add an effect,
 * roles or labels.
 *
 * Its input is checked even where the AI SDK would not, and so is its output if it has an `outputSchema`. `toolCallId`
 * is our call id, `context` the run's app value, checked by its `contextSchema`. A `description` that is a function is
 * asked once, without a context.
 *
 * `metadata` and `supportsDeferredResults` of the AI SDK have no meaning here and change nothing.
 *
 * @throws ProvostError `unknown-option` for keys that the AI SDK does not know; `invalid-tool`, `invalid-label`
 *
 * @example
 * createAgent({ name: 'desk', model, tools: [fromAiTool('weather', weatherTool, { effect: 'read' })] })
 */
export function fromAiTool(name: string, tool: AiTool, more: AiToolMore = {}): Tool {
  checkOptions(more, aiMoreKeys, `fromAiTool ${JSON.stringify(name)}`)
  checkOptions(tool, aiToolKeys, `the AI SDK tool ${JSON.stringify(name)}`, movedAiKeys)
  const { effect = 'egress', idempotent = false, returns } = more
  checkWord(name, 'effect', effect, ['none', 'read', 'write', 'egress'])
  checkLabel(returns, `"returns" of tool ${name}`)
  const { deferLoading = false, title } = tool
  // `dynamicTool()` is for schemas that are known at run time only, such as those of an MCP server.
  const foreign = tool.type === 'dynamic'
  const input = aiSchema(tool.inputSchema, foreign)
  const output = tool.outputSchema === undefined ? undefined : aiSchema(tool.outputSchema, foreign)
  const executed = tool.type === 'provider' && tool.isProviderExecuted
  const examples = (): MaybePromise<void> => checkExamples(name, tool.inputExamples ?? [], input.get())
  const prepare = (): MaybePromise<void> => {
    const first = input.prepare()
    const second = isPromise(first) ? first.then(() => output?.prepare()) : output?.prepare()
    return isPromise(second) ? second.then(examples) : examples()
  }
  // Whether the schema is asynchronous shows only on first use, and few deferred tools are used.
  const waiting = deferLoading || isLater(name, prepare)
  const definition = definitionOf(name, tool, more, executed, {
    input,
    output: executed ? undefined : output,
    prepare: waiting ? prepare : undefined,
  })
  if (returns) fixLabel(definition, returns)
  const description = descriptionOf(name, tool)
  return makeTool({
    name,
    title,
    description,
    effect,
    roles: rolesOf(name, more.args ?? {}),
    idempotent,
    remote: !executed && tool.execute === undefined,
    deferred: deferLoading,
    definition,
    lazy: waiting,
    ...(foreign && { set: 'dynamic' }),
  })
}

function isLater(name: string, prepare: () => MaybePromise<void>): boolean {
  try {
    const done = prepare()
    if (!isPromise(done)) return false
    done.then(undefined, () => {})
    return true
  } catch (cause) {
    if (cause instanceof ProvostError && cause.code === 'invalid-tool') throw cause
    const { message, hint = 'Correct its schema: no error may be thrown while it is read.' } = toErrorInfo(cause)
    throw invalidTool(name, message.replace(/\.$/, ''), hint, cause)
  }
}

interface Schemas {
  readonly input: AiSchema
  readonly output: AiSchema | undefined
  readonly prepare: ToolDefinition['prepare'] | undefined
}

function definitionOf(
  name: string,
  tool: AiTool,
  more: AiToolMore,
  executed: boolean,
  schemas: Schemas,
): ToolDefinition {
  const { execute, needsApproval } = tool
  const { timeoutMs = timeoutOf(execute ?? executed), executionMode = 'parallel', effect = 'egress', returns } = more
  checkWord(name, 'executionMode', executionMode, ['parallel', 'sequential'])
  const cache = cachingOf(name, more.cache, effect, execute === undefined)
  const listener = listenerOf(tool)
  const definition: ToolDefinition = {
    get input() {
      return schemas.input.get()
    },
    timeoutMs,
    executionMode,
    trustedFields: (more.trustedFields ?? []).map((field) => pointerIn(name, field)),
    examples: tool.inputExamples ?? [],
    ...(schemas.prepare && { prepare: schemas.prepare }),
    ...(cache && { cache }),
    ...(tool.strict !== undefined && { strict: tool.strict }),
    ...(tool.providerOptions && { providerOptions: tool.providerOptions }),
    ...(tool.type === 'provider' && { provider: { id: tool.id, args: tool.args, executed } }),
    ...(listener && { inputListener: listener }),
    ...(executed && { execute: () => refuse(name) }),
    ...(execute && { execute: (input: unknown, ctx: ToolContext) => run(tool, input, ctx) }),
    ...(needsApproval !== undefined &&
      needsApproval !== false && {
        needsApproval: async (input: unknown, ctx: HookContext, callId: string) =>
          needsApproval === true ||
          needsApproval(
            input,
            callOptions(callId, ctx, () => before(ctx.view.messages)),
          ),
      }),
    ...(returns && { returns: () => returns }),
  }
  // Made when it is needed, so it is a getter, which no spread may touch.
  const { output } = schemas
  if (output) Object.defineProperty(definition, 'output', { get: () => asStandard(output.get()), enumerable: true })
  return Object.freeze(definition)
}

function refuse(name: string): never {
  throw new ProvostError('provider-tool', `${name} is run by the provider, not here.`, {
    hint: 'Use it with a model of the provider that defines it.',
  })
}

function descriptionOf(name: string, { description }: AiTool): string | undefined {
  if (typeof description !== 'function') return description
  try {
    return description({ context: {} })
  } catch (cause) {
    throw invalidTool(
      name,
      'its description function needs a context, which does not exist yet',
      'Use a string.',
      cause,
    )
  }
}

interface CallOptions {
  readonly toolCallId: string
  readonly messages: ModelMessage[]
  readonly abortSignal: AbortSignal
  readonly context: unknown
}

/** Returns the options that functions of an AI SDK tool receive. Histories are converted on first access. */
function callOptions(
  toolCallId: string,
  ctx: { readonly signal: AbortSignal; readonly context: unknown },
  messages: () => readonly Message[],
): CallOptions {
  return {
    toolCallId,
    context: ctx.context,
    get abortSignal() {
      return ctx.signal
    },
    get messages() {
      return toModelMessages(messages())
    },
  }
}

/** Returns the history before the message with the call. */
function before(messages: readonly Message[]): readonly Message[] {
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  return answer < 0 ? messages : messages.slice(0, answer)
}

function run(tool: AiTool, input: unknown, ctx: ToolContext): unknown {
  const start = (context: unknown): unknown => {
    const given: unknown = tool.execute?.(
      input,
      withMore(
        callOptions(ctx.callId, ctx, () => ctx.messages),
        { context },
      ),
    )
    if (isAsyncIterable(given)) return relay(tool, given, input, ctx.callId)
    return isPromise(given)
      ? given.then((value) => finish(tool, value, input, ctx.callId))
      : finish(tool, given, input, ctx.callId)
  }
  return tool.contextSchema === undefined ? start(ctx.context) : contextFor(tool.contextSchema, ctx).then(start)
}

async function contextFor(schema: FlexibleSchema, ctx: ToolContext): Promise<unknown> {
  const made = aiSchema(schema)
  await made.prepare()
  const parsed = await parseWith(asStandard(made.get()), ctx.context)
  if (parsed.ok) return parsed.value
  throw new ProvostError('invalid-context', `The context of the run is invalid: ${parsed.issues[0]?.message ?? ''}.`, {
    hint: 'Pass the run a context that matches the contextSchema of the tool.',
  })
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Emits each yield as a whole intermediate result. The last one is the result. */
async function* relay(tool: AiTool, given: AsyncIterable<unknown>, input: unknown, callId: string): AsyncGenerator {
  let last: unknown
  for await (const value of given) {
    last = value
    yield rich(value, {})
  }
  return finish(tool, last, input, callId)
}

function finish(tool: AiTool, value: unknown, input: unknown, toolCallId: string): unknown {
  const { toModelOutput } = tool
  if (!toModelOutput) return value
  const shown = toModelOutput({ toolCallId, input, output: value })
  return isPromise(shown)
    ? shown.then((output) => rich(value, { output: outputOf(output) }))
    : rich(value, { output: outputOf(shown) })
}

type SdkOutput = Awaited<ReturnType<NonNullable<AiTool['toModelOutput']>>>

function outputOf(output: SdkOutput): ToolOutput {
  const content = [{ type: 'tool-result' as const, toolCallId: 'c', toolName: 't', output }]
  const part = fromModelMessages([{ role: 'tool', content }])[0]?.content[0]
  return part?.type === 'tool-result' ? part.output : { type: 'text', value: '' }
}

function listenerOf(tool: AiTool): ToolInputListener | undefined {
  const { onInputStart, onInputDelta, onInputAvailable } = tool
  if (!onInputStart && !onInputDelta && !onInputAvailable) return undefined
  const options = (callId: string, ctx: HookContext): CallOptions => callOptions(callId, ctx, () => ctx.view.messages)
  return {
    ...(onInputStart && { start: (callId: string, ctx: HookContext) => onInputStart(options(callId, ctx)) }),
    ...(onInputDelta && {
      delta: (callId: string, inputTextDelta: string, ctx: HookContext) =>
        onInputDelta(withMore(options(callId, ctx), { inputTextDelta })),
    }),
    ...(onInputAvailable && {
      available: (callId: string, input: unknown, ctx: HookContext) =>
        onInputAvailable(withMore(options(callId, ctx), { input })),
    }),
  }
}

/** Adds fields without looking at the getters. */
function withMore<T extends object, M extends object>(options: T, more: M): T & M {
  return Object.assign(Object.create(null, Object.getOwnPropertyDescriptors(options)), more)
}
