import type {
  EventPayloads,
  Json,
  KnownKeys,
  LabelInit,
  Message,
  StandardSchemaV1,
  Tool,
  ToolResult,
  View,
} from '@provost/core'
import {
  ProvostError,
  checkChoice,
  checkLabel,
  checkOptions,
  deepFreeze,
  emitted,
  fillLabel,
  joinLabels,
  parseWith,
  textOf,
  toJson,
} from '@provost/core'
import { checkModel, checkSettings, estimateTokens, messageTokens, windowOf } from '@provost/provider'

import { toolTokens } from '../prompt/context-size.ts'
import { readJson } from '../prompt/structured-output.ts'
import { openCalls, nextAction } from '../state/next-action.ts'
import { registeredName, toolCall } from '../state/tool-call.ts'
import type { ExecuteOptions, OrchestratorRun, StepOptions, StepRequest } from '../types/orchestrator.ts'
import { orchestratorName } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'
import type { ReplayCursor } from './replay-cursor.ts'

/** How often the model is asked to repair output that does not match its schema. */
const mostRepairs = 1

const objectKeys = { tools: true, tail: true, model: true, tier: true, settings: true } as const
const stepKeys = { ...objectKeys, output: true } satisfies KnownKeys<StepOptions>
const executeKeys = { only: true, reason: true } satisfies KnownKeys<ExecuteOptions>

function checkStep({ model, tier, settings }: StepOptions, where: string): void {
  if (model !== undefined) checkModel(model, where)
  checkChoice(tier, ['fast', 'balanced', 'smart'], 'tier', where)
  checkSettings(settings, where)
}

/** What an orchestrator requests from the loop. Requests are processed in turn. */
export interface OrchestratorRequests {
  model(options: StepRequest): Promise<Message>
  execute(options: ExecuteOptions): Promise<readonly ToolResult[]>
  say(content: string, label: LabelInit | undefined): Promise<Message>
  callTool(toolName: string, input: Json, label: LabelInit | undefined): Promise<ToolResult>
  memo(key: string, value: Json): Promise<Json>
  emit(event: Omit<EventPayloads['extension'], 'name'>): void
}

/** Returns the run object of an orchestrator. It reads from the log and sends requests to the loop. */
export function orchestratorRun(
  agent: ResolvedAgent,
  cursor: ReplayCursor,
  requests: OrchestratorRequests,
  turn: number,
  signal: AbortSignal,
): OrchestratorRun {
  const memos = new Map<string, Promise<Json>>()
  let steers = 0
  let counted = cursor.offset

  const step = (options: StepRequest): Promise<Message> => requests.model(labelled(cursor, options))

  const execute: OrchestratorRun['execute'] = (options = {}) => {
    checkOptions(options, executeKeys, 'run.execute')
    return requests.execute(options)
  }

  const say: OrchestratorRun['say'] = (content, label) => {
    checkLabel(label, 'run.say')
    return requests.say(content, label)
  }

  function callTool<In, Out, App>(tool: Tool<In, Out, App>, input: In, label?: LabelInit): Promise<ToolResult<Out>>
  function callTool(name: string, input: unknown, label?: LabelInit): Promise<ToolResult>
  // oxlint-disable-next-line typescript/no-explicit-any -- the tool's schema has validated the value
  async function callTool(tool: string | Tool, input: unknown, label?: LabelInit): Promise<ToolResult<any>> {
    checkLabel(label, 'run.callTool')
    const name = typeof tool === 'string' ? tool : registeredName(agent, tool)
    // Secrets are tokenised, so that a repeated call equals the call in the log.
    return requests.callTool(name, deepFreeze(agent.secrets.scrubber.tokenise(toJson(input))), label)
  }

  async function object<S extends StandardSchemaV1>(
    schema: S,
    options: Omit<StepOptions, 'output'> = {},
  ): Promise<StandardSchemaV1.InferOutput<S>> {
    checkOptions(options, objectKeys, 'run.object')
    checkStep(options, 'run.object')
    for (let repairs = 0; ;) {
      const message = await step({ ...options, output: schema })
      if ((cursor.state.run?.openCalls ?? 0) > 0) {
        await execute()
        continue
      }
      const read = readJson(textOf(message))
      const parsed = read.ok ? await parseWith(schema, read.value) : undefined
      if (parsed?.ok) return parsed.value
      const issues = parsed?.ok === false ? parsed.issues : []
      const problem = read.ok
        ? issues
            .slice(0, 10)
            .map((issue) => `${issue.path || 'it'}: ${issue.message}`)
            .join('; ')
            .slice(0, 1000)
        : `it is not JSON (${read.reason})`
      if (repairs++ >= mostRepairs) {
        throw new ProvostError('output-invalid', `The answer of the model does not match its schema: ${problem}.`, {
          hint: 'Loosen the schema, describe its fields, or use a stronger model.',
        })
      }
      await say(`The answer does not fit: ${problem}. Answer again with JSON that does, and nothing else.`)
    }
  }

  function memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
  function memo(key: string, fn: () => unknown): Promise<Json> {
    const name = `${cursor.state.run?.id ?? ''}/${orchestratorName}/${turn}/${key}`
    const known = cursor.log.memos.get(name)
    if (known !== undefined) return Promise.resolve(known)
    let value = memos.get(name)
    if (!value) {
      value = (async () => {
        const made = toJson(await fn())
        return requests.memo(name, made)
      })()
      memos.set(name, value)
      // A failed memo may be retried.
      value.catch(() => memos.delete(name))
    }
    return value
  }

  return {
    get view() {
      return viewOf(cursor.state, agent)
    },
    get position() {
      return nextAction(cursor.state)
    },
    tools: agent.infos,
    get calls() {
      return openCalls(cursor.state).map((call) => toolCall(agent, call))
    },
    get steers() {
      for (; counted < cursor.offset; counted++) {
        const entry = cursor.log.entries[counted]
        if (entry?.type === 'message' && entry.via === 'steer') steers++
      }
      return steers
    },
    signal,
    model(options = {}) {
      checkOptions(options, stepKeys, 'run.model')
      checkStep(options, 'run.model')
      return step(options)
    },
    object,
    execute,
    say,
    callTool,
    memo,
    emit: (...args: readonly unknown[]) => requests.emit({ ...emitted(args), label: cursor.state.viewLabel }),
  }
}

function viewOf(state: SessionState, agent: ResolvedAgent): View {
  const window = windowOf(agent.modelName)
  return {
    get messages() {
      return Object.freeze([...state.view])
    },
    label: state.viewLabel,
    get tokens() {
      return state.view.reduce((sum, message) => sum + messageTokens(message), 0)
    },
    get overhead() {
      return estimateTokens(agent.instructions ?? '') + toolTokens(agent)
    },
    model: agent.modelName,
    ...(window !== undefined && { window }),
    trigger: 'step',
  }
}

/** Labels options without a label with the join of all that the orchestrator has seen. */
function labelled(cursor: ReplayCursor, options: StepRequest): StepRequest {
  if (!options.tail) return options
  const label = joinLabels(cursor.state.viewLabel)
  return { ...options, tail: options.tail.map((init) => ({ ...init, label: fillLabel(init.label, label) })) }
}
