import type { CompositeContext, FilterDescriptor, HandoffMode, Json, JsonSchema, Tool } from '@provost/core'
import { ProvostError, checkFilter, isRecord, wireToolName } from '@provost/core'
import { tool } from '@provost/tools'

import { longestTimerMs } from '../state/wait-deadlines.ts'
import type { Agent, Handoff, HandoffTarget } from '../types/agent.ts'
import { isAgent } from './agent-registry.ts'
import { checkHandoff } from './known-team-options.ts'

/** How a handoff is made. */
export interface HandoffOptions {
  /**
   * `transfer`: the target goes on with the user. `return`: it runs as a child, and what it answers is the result of the
   * call. Default `transfer`.
   */
  readonly mode?: HandoffMode
  /** What the target gets of the conversation. Default `filters.full()`. */
  readonly filter?: FilterDescriptor
  /** When to hand over, for the model. Default: the description of the target. */
  readonly description?: string
}

const targets = new WeakMap<object, Agent<unknown, never>>()

/**
 * Lets an agent hand the conversation over to another: its model gets a tool `transfer_to_NAME`. With `transfer` the
 * target goes on in the same session and run, with its own instructions, tools, model and extensions, and those of the
 * caller that are scoped to the tree. With `return` it works on what crosses in a log of its own, and the caller goes on
 * with its answer.
 *
 * @throws ProvostError `not-an-agent`, `unknown-option`; `invalid-handoff` for another mode; `invalid-filter`, for functions too: what crosses is data
 *
 * @example
 * const triage = createAgent({ name: 'triage', model, handoffs: [handoff(billing, { filter: filters.lastN(6) })] })
 */
export function handoff<Output, App>(agent: Agent<Output, App>, options: HandoffOptions = {}): Handoff<App> {
  if (!isAgent(agent)) throw notAnAgent()
  checkHandoff(options)
  const { mode = 'transfer', filter = { kind: 'full' }, description } = options
  if (mode !== 'transfer' && mode !== 'return') {
    throw new ProvostError('invalid-handoff', `The handoff to ${agent.name} has mode: ${JSON.stringify(mode)}.`, {
      hint: "Give 'transfer' or 'return'.",
    })
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
  return new ProvostError('not-an-agent', 'A handoff takes an agent that createAgent made.', {
    hint: 'Pass the agent itself; where it is not there yet, give handoffs as a function.',
  })
}

/** The agent behind a handoff. */
export function targetOf(to: Handoff): Agent<unknown, never> {
  const agent = targets.get(to)
  if (agent) return agent
  throw new ProvostError('not-a-handoff', `The handoff to ${to.to} was made by hand.`, {
    hint: 'Make it with handoff(agent, { filter }).',
  })
}

/**
 * The handoffs that an agent was given.
 *
 * @throws ProvostError `invalid-agent`
 */
export function handoffsOf(
  agent: string,
  given: readonly HandoffTarget[] | (() => readonly HandoffTarget[]) = [],
): readonly Handoff[] {
  const list: unknown = typeof given === 'function' ? given() : given
  if (!Array.isArray(list)) throw invalid(agent, 'has handoffs that are no list')
  const names = new Set<string>()
  return list.map((target: unknown, index) => {
    const one = isAgent(target) ? handoff(target) : isHandoff(target) ? target : undefined
    if (!one) throw invalid(agent, `has handoffs[${index}], which is no agent`)
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

/** What the tool of a handoff that comes back is to do. */
export type ReturnHandoff = (ctx: CompositeContext) => Promise<unknown>

/** What a model writes is JSON: nobody but the executor gives a function. */
function isErrand(given: unknown): given is ReturnHandoff {
  return typeof given === 'function'
}

/** The tool by which a model asks for a handoff. */
export function handoffTool(one: Handoff): Tool {
  return one.mode === 'return' ? returnTool(one) : transferTool(one)
}

/** It never runs: the loop takes the call for what it is. */
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
    async execute(given: unknown, ctx) {
      if (isErrand(given)) return given(ctx)
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
    hint: 'A composite tool cannot: let the agent do it.',
  })
}

const longestMessage = 8_000

/** What the caller's model tells the target. */
export function messageIn(args: Json): string {
  const { message } = isRecord(args) ? args : {}
  return typeof message === 'string' ? message.slice(0, longestMessage).trim() : ''
}
