// Checked by the compiler alone: what an orchestrator is given, and what it must not do.
import { agentic, createAgent, planAndExecute, react, tool, z } from 'provost'
import type {
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
  expectTypeOf(await run.memo('k', () => Promise.resolve(1))).toEqualTypeOf<number>()
  run.emit({ anything: true })
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
  readonly position: 'context' | 'model' | 'tools' | 'wait' | 'end'
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
