// Checked by the compiler alone: what an orchestrator is given, and what it must not do.
import { agentic, createAgent, defineEvent, isEventOf, planAndExecute, planEvents, react, tool, z } from 'provost'
import type {
  AgentEvent,
  Message,
  MessageInit,
  ModelSettings,
  ModelSpec,
  Orchestrator,
  OrchestratorRun,
  NextAction,
  ToolCall,
  ToolInfo,
  ToolResult,
  View,
} from 'provost'
import { expectTypeOf } from 'vitest'

const model = 'openai/gpt-5'
const drafted = defineEvent<{ readonly words: number }>('draft.made')

export function read(event: AgentEvent): void {
  if (isEventOf(event, drafted)) {
    expectTypeOf(event.data.words).toEqualTypeOf<number>()
    expectTypeOf(event.type).toEqualTypeOf<'extension'>()
  }
  if (isEventOf(event, planEvents.stepEnd))
    expectTypeOf(event.data.status).toEqualTypeOf<'done' | 'failed' | 'steered'>()
}

createAgent({ name: 'a', model, orchestrator: agentic() })
createAgent({ name: 'a', model, orchestrator: react({ maxThoughtTokens: 100 }) })
createAgent({ name: 'a', model, orchestrator: planAndExecute({ planner: model, maxReplans: 1 }) })

export const own: Orchestrator = async (run) => {
  expectTypeOf(run).toEqualTypeOf<OrchestratorRun>()
  expectTypeOf(run.view).toEqualTypeOf<View>()
  expectTypeOf(run.position).toEqualTypeOf<NextAction>()
  expectTypeOf(run.calls).toEqualTypeOf<readonly ToolCall[]>()
  expectTypeOf(
    await run.model({ tools: ['a'], tail: [{ content: 'b' }], model, settings: { seed: 1 } }),
  ).toEqualTypeOf<Message>()
  expectTypeOf(await run.execute({ only: [] })).toEqualTypeOf<readonly ToolResult[]>()
  expectTypeOf(await run.object(z.object({ n: z.string().transform(Number) }))).toEqualTypeOf<{ n: number }>()
  expectTypeOf(await run.say('c', { integrity: 'untrusted' })).toEqualTypeOf<Message>()
  const add = tool({ name: 'add', input: z.object({ n: z.number() }), execute: ({ n }) => n + 1 })
  expectTypeOf(await run.callTool(add, { n: 1 })).toEqualTypeOf<ToolResult<number>>()
  expectTypeOf(await run.callTool('add', { n: 1 }, { integrity: 'untrusted' })).toEqualTypeOf<ToolResult>()
  // @ts-expect-error the input is not that of the tool
  await run.callTool(add, { n: 'one' })
  expectTypeOf(await run.memo('k', () => Promise.resolve(1))).toEqualTypeOf<number>()
  run.emit({ anything: true })
  run.emit('draft.named', { anything: true })
  run.emit(drafted, { words: 1 })
  // @ts-expect-error the data is that of another event
  run.emit(drafted, { sentences: 1 })
  // @ts-expect-error a step that is asked for data is asked by object()
  await run.model({ output: z.string() })
  // @ts-expect-error what is said is text
  await run.say({ content: 'c' })
  // @ts-expect-error a tool is named
  await run.model({ tools: [tool({ name: 't', input: z.object({}), execute: () => 1 })] })
}

// One that asks for less is one too.
export const less = async (run: {
  readonly view: View
  readonly position: 'start-step' | 'retry-step' | 'run-tools' | 'wait' | 'finish'
  readonly tools: readonly ToolInfo[]
  model(options?: {
    tools?: readonly string[]
    tail?: readonly MessageInit[]
    model?: ModelSpec
    settings?: ModelSettings
  }): Promise<Message>
  execute(): Promise<readonly ToolResult[]>
  memo<T>(key: string, fn: () => T | Promise<T>): Promise<T>
}): Promise<void> => {
  await run.model()
}
createAgent({ name: 'a', model, orchestrator: less })

export function mistakes(): void {
  // @ts-expect-error it is called, not named
  createAgent({ name: 'a', model, orchestrator: 'react' })
  // @ts-expect-error it is made by a call
  createAgent({ name: 'a', model, orchestrator: react })
  // @ts-expect-error a misspelt option
  planAndExecute({ maxReplan: 1 })
  // @ts-expect-error an answer is awaited, not given back
  createAgent({ name: 'a', model, orchestrator: () => 'answer' })
}
