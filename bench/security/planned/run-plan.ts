import { createAgent, memoryStore } from 'provost'
import type { Json } from 'provost'
import { codeMode, planned } from 'provost/code-mode'
import { scriptedModel } from 'provost/testing'

import { replayed } from '../replay/play.ts'
import type { Suite, SuiteTool } from '../replay/suite.ts'
import { type Mutation, mutated, type Random } from './mutate.ts'
import type { Plan } from './plan.ts'

type Task = Suite['user_tasks'][number]

/** A call that acts: its tool, and its arguments without content. */
export interface Sink {
  readonly tool: string
  readonly args: { readonly [key: string]: Json }
}

/** What a plan did in one world. */
export interface Trace {
  /** The calls that acted, in order. */
  readonly sinks: readonly Sink[]
  /** Why a human is asked, if one is. */
  readonly asks?: string
  /** The script failed, and its model may learn of it. */
  readonly failed?: string
}

/** Where a plan runs. */
export interface World {
  /** `code-mode` runs the same script without the guarantee, to show what the comparison finds. */
  readonly mode: 'planned' | 'code-mode'
  readonly mutation: Mutation
  /** The words that an attacker plants. */
  readonly attack: string
  readonly random: Random
}

/** Runs a plan in planned mode. The tools give what they gave when the task was recorded, with other untrusted text. */
export async function runPlan(plan: Plan, task: Task, suite: Suite, world: World): Promise<Trace> {
  const sinks: Sink[] = []
  const answer = answersOf(plan, task, suite)
  const agent = createAgent({
    name: 'plan',
    store: memoryStore(),
    tools: suite.tools.map((from) =>
      replayed(from, (args) => {
        if (acts(from)) sinks.push({ tool: from.name, args: withoutContent(from, args) })
        return mutated(answer(from.name, args), from, world.mutation, world.attack, world.random)
      }),
    ),
    ...(world.mode === 'planned' ? { mode: planned({ workers: 1 }) } : { extensions: [codeMode({ workers: 1 })] }),
    model: modelOf(plan.source, world),
  })
  const result = await agent.run(task.prompt)
  const [approval] = result.pending.approvals
  if (result.status === 'suspended') return { sinks, asks: approval?.reason ?? 'Data from outside stops the script.' }
  if (result.status !== 'completed')
    throw new Error(`The plan of ${suite.suite} ${task.id} ended ${result.status}.`, { cause: result.error })
  const failed = result.messages
    .flatMap(({ content }) => content)
    .find((part) => part.type === 'tool-result' && part.output.type === 'error-text')
  return {
    sinks,
    ...(failed?.type === 'tool-result' && failed.output.type === 'error-text' && { failed: failed.output.value }),
  }
}

/** Whether a call of the tool is one that the property is about. */
export function acts({ effect, egress }: SuiteTool): boolean {
  return egress || effect === 'write' || effect === 'egress'
}

function withoutContent({ arg_roles: roles }: SuiteTool, args: Sink['args']): Sink['args'] {
  return Object.fromEntries(Object.entries(args).filter(([key]) => roles[key] !== 'content'))
}

/** What a tool gives: of the call with these arguments, else what stands beside, else of the next call of this tool. */
function answersOf(plan: Plan, task: Task, suite: Suite): (tool: string, args: Sink['args']) => Json {
  const outputs = (calls: Task['calls'], tool: string) => calls.filter((call) => call.tool === tool)
  const all = suite.user_tasks.flatMap(({ calls }) => calls)
  return (tool, args) => {
    const own = outputs(task.calls, tool)
    const same = [...own, ...outputs(all, tool)].find((call) => JSON.stringify(call.args) === JSON.stringify(args))
    const found = same ?? (plan.beside?.[tool] === undefined ? (own[0] ?? outputs(all, tool)[0]) : undefined)
    return found ? (found.output ?? found.output_text ?? null) : (plan.beside?.[tool] ?? null)
  }
}

/** The planner writes the script once. The model that reads says what the text says, so the text steers it. */
function modelOf(source: string, { mutation, random }: World): ReturnType<typeof scriptedModel> {
  let wrote = false
  return scriptedModel(
    [
      ({ messages, options }) => {
        const told = messages.map(({ content }) => JSON.stringify(content)).join('\n')
        if (told.includes('You read data from outside')) {
          const data = told.slice(told.indexOf('You read data from outside') + 150)
          const { responseFormat: format } = options
          if (format?.type !== 'json') return { text: data.slice(-200) }
          return { text: JSON.stringify(readAs(format.schema ?? {}, data, mutation === 'recorded' ? () => 0 : random)) }
        }
        if (wrote) return { text: 'Done.' }
        wrote = true
        return { toolCalls: [{ name: 'code_execute', input: { source } }] }
      },
    ],
    { after: 'repeat-last' },
  )
}

/** A value of the schema with words and numbers of the data. */
function readAs(schema: unknown, data: string, random: Random): Json {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return null
  const words = data.match(/[\p{L}\d@./:-]{3,}/gu) ?? ['']
  const word = () => words[random(words.length)] ?? ''
  switch (schema.type) {
    case 'object': {
      const properties = 'properties' in schema ? schema.properties : {}
      return Object.fromEntries(Object.entries(properties ?? {}).map(([key, one]) => [key, readAs(one, data, random)]))
    }
    case 'array':
      return Array.from({ length: 1 + random(3) }, word)
    case 'number':
      return Number(/\d+/.exec(data)?.[0] ?? random(100))
    case 'boolean':
      return random(2) === 0
    default:
      return word()
  }
}
