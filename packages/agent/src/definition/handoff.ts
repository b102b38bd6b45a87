import type { CompositeContext, FilterDescriptor, HandoffMode, Json, JsonSchema, Tool } from '@provost/core'
import { ProvostError, checkFilter, isRecord, longestTimerMs, wireToolName } from '@provost/core'
import { tool } from '@provost/tools'

import type { Agent, Handoff, HandoffTarget } from '../types/agent.ts'
import { isAgent } from './agent-registry.ts'
import { checkHandoff } from './known-child-options.ts'

/** Options of `handoff`. */
export interface HandoffOptions {
  /**
   * `transfer`: the target continues the conversation. `return`: the target runs as a child, and its answer is the result
   * of the call. Default `transfer`.
   */
  readonly mode?: HandoffMode
  /** The part of the conversation that the target receives. Default `filters.full()`. */
  readonly filter?: FilterDescriptor
  /** Tells the model when to hand over. Default: the description of the target. */
  readonly description?: string
}

const targets = new WeakMap<object, Agent<unknown, never>>()

/**
 * Returns a handoff to an agent. The model of the caller gets a tool `transfer_to_NAME`.
 *
 * - `transfer`: the target continues the same session and run with its own instructions, tools, model and extensions. The
 *   caller's tree-scoped extensions stay active.
 * - `return`: the target runs as a child in a separate log. The caller continues with its answer.
 *
 * @throws ProvostError `not-an-agent`, `unknown-option`; `invalid-handoff` for another mode; `invalid-filter`, also for functions: a filter is data
 *
 * @example
 * const triage = createAgent({ name: 'triage', model, handoffs: [handoff(billing, { filter: filters.lastN(6) })] })
 */
export function handoff<Output, App>(agent: Agent<Output, App>, options: HandoffOptions = {}): Handoff<App> {
  if (!isAgent(agent)) throw notAnAgent()
  checkHandoff(options)
  const { mode = 'transfer', filter = { kind: 'full' }, description } = options
  if (mode !== 'transfer' && mode !== 'return') {
    throw new ProvostError(
      'invalid-handoff',
      `The handoff to ${agent.name} has the unknown mode ${JSON.stringify(mode)}.`,
      {
        hint: "Give 'transfer' or 'return'.",
      },
    )
  }
  const made: Handoff<App> = Object.freeze({
    to: agent.name,
    mode,
    filter: checkFilter(filter),
    ...(description !== undefined && { description }),
  })
  targets.set(made, agent)
  return made
}

function notAnAgent(): ProvostError {
  return new ProvostError('not-an-agent', 'handoff() got a value that is not an agent.', {
    hint: 'Pass an agent that createAgent returned. If it is defined later, give "handoffs" as a function.',
  })
}

/** Returns the target agent of a handoff. */
export function targetOf(to: Handoff): Agent<unknown, never> {
  const agent = targets.get(to)
  if (agent) return agent
  throw new ProvostError('not-a-handoff', `The handoff to ${to.to} was not made with handoff().`, {
    hint: 'Make it with handoff(agent, { filter }).',
  })
}

/**
 * Returns the handoffs of an agent.
 *
 * @throws ProvostError `invalid-agent`
 */
export function handoffsOf(
  agent: string,
  given: readonly HandoffTarget[] | (() => readonly HandoffTarget[]) = [],
): readonly Handoff[] {
  const list: unknown = typeof given === 'function' ? given() : given
  if (!Array.isArray(list)) throw invalid(agent, 'has "handoffs" that are not an array')
  const names = new Set<string>()
  return list.map((target: unknown, index) => {
    const one = isAgent(target) ? handoff(target) : isHandoff(target) ? target : undefined
    if (!one) throw invalid(agent, `has handoffs[${index}], which is not an agent`)
    if (one.to === agent) throw invalid(agent, 'hands over to itself')
    if (names.has(one.to)) throw invalid(agent, `has two handoffs to ${one.to}`)
    names.add(one.to)
    return one
  })
}

function isHandoff(value: unknown): value is Handoff {
  return isRecord(value) && targets.has(value)
}

function invalid(agent: string, what: string): ProvostError {
  return new ProvostError('invalid-agent', `Agent ${agent} ${what}.`, {
    hint: 'Give handoffs: [agent, handoff(agent, { filter })], each target once.',
  })
}

/** The work of the tool of a return handoff. */
export type ReturnHandoff = (ctx: CompositeContext) => Promise<unknown>

/** Whether the executor passed the input. Only the executor can pass a function: a model writes JSON. */
function isReturnHandoff(input: unknown): input is ReturnHandoff {
  return typeof input === 'function'
}

/** Returns the tool by which a model requests a handoff. */
export function handoffTool(one: Handoff): Tool {
  return one.mode === 'return' ? returnTool(one) : transferTool(one)
}

/** Returns the tool of a transfer. It never executes: the loop handles its calls. */
function transferTool({ to, description = '' }: Handoff): Tool {
  const about = description.trim() || `Use it where ${to} should answer instead of you.`
  return tool({
    name: wireToolName(`transfer_to_${to}`),
    description: `Hands the conversation over to ${to}, who goes on with the user. ${about}`,
    input: messageSchema(to),
    effect: 'none',
    modelOnly: true,
    execute() {
      throw notCallable(to)
    },
  })
}

function returnTool({ to, description = '' }: Handoff): Tool {
  const about = description.trim() || `Use it where ${to} knows what you do not.`
  return tool({
    name: wireToolName(`transfer_to_${to}`),
    description: `Lets ${to} work on the conversation, and gives you the answer; you go on with the user. ${about}`,
    input: messageSchema(to),
    effect: 'none',
    modelOnly: true,
    composite: true,
    timeoutMs: longestTimerMs,
    async execute(input: unknown, ctx) {
      if (isReturnHandoff(input)) return input(ctx)
      throw notCallable(to)
    },
  })
}

function messageSchema(to: string): JsonSchema {
  return {
    type: 'object',
    properties: { message: { type: 'string', description: `What ${to} should know or do, in a sentence or two.` } },
  }
}

function notCallable(to: string): ProvostError {
  return new ProvostError('not-callable', `Only a model can hand the conversation over to ${to}.`, {
    hint: 'A composite tool cannot call a handoff. Let the model of the agent request it.',
  })
}

const longestMessage = 8_000

/** Returns the message of the caller's model to the target. */
export function messageIn(args: Json): string {
  const { message } = isRecord(args) ? args : {}
  return typeof message === 'string' ? message.slice(0, longestMessage).trim() : ''
}
