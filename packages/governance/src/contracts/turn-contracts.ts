import type { HookContext, ModelSpec, ToolCall, ToolInfo, ToolResult } from '@provost/core'

import { allowedCalls } from '../provenance/contract.ts'
import type { Contract, ContractView } from '../provenance/contract.ts'
import { activeRuns } from './active-runs.ts'
import { confirm, isConfirmed, recordedContract } from './contract-entry.ts'
import { callCounter } from './counted-calls.ts'
import { deriveByPlanner } from './derive-by-planner.ts'
import { deriveByWords } from './derive-by-words.ts'
import type { Turn } from './turn.ts'
import { turnOf } from './turn.ts'

/** How contracts are derived from the human's turns, and whether a human confirms them. */
export interface ContractOptions {
  /**
   * A model that derives contracts, or `true` for the agent's own. It sees the instructions, the human's messages and the
   * tools, never what tools returned. If it fails, the words of the turn decide. Default: the words decide.
   */
  readonly planner?: true | ModelSpec
  /**
   * Whether a human confirms the contract as a whole: `always` with the first call that writes or sends; `doubtful` with
   * the first call that relies on a grant in doubt. After that, doubtful grants hold without further questions. Default
   * `never`: each call that exceeds its contract asks.
   */
  readonly confirm?: 'always' | 'doubtful' | 'never'
}

/** The turns of the runs that a policy governs, and their contracts. A child shares both with the outermost run. */
export interface TurnContracts {
  /** Makes a run known to its children while it is active. */
  whileItRuns<T>(ctx: HookContext, next: () => Promise<T>): Promise<T>
  turnOf(ctx: HookContext): Turn
  /** Returns the context of the outermost run that the policy governs. */
  topOf(ctx: HookContext): HookContext
  /** Returns the context of the run that spawned this one, if the policy governs it in this process. */
  above(ctx: HookContext): HookContext | undefined
  /** Derives the contract of the present turn, or reads it from the log. */
  contractOf(ctx: HookContext): Promise<Contract>
  /** Returns the contract as it applies to a call, and reserves one call of its tool until `release`. */
  viewOf(call: ToolCall, ctx: HookContext): Promise<ContractView>
  /** Counts a call that is about to run, if its contract limits the calls of its tool. */
  count(call: ToolCall, ctx: HookContext): Promise<void>
  /** Ends the reservation of a call that was judged. */
  release(callId: string): void
  /** Gives back the call of a child that failed before its effect. */
  giveBack(result: ToolResult, ctx: HookContext): Promise<void>
  /** Records that a human confirmed the contract of the present turn. */
  confirm(ctx: HookContext): Promise<void>
}

/** Returns whether calls of a tool write or send. */
export function isSink({ effect }: ToolInfo): boolean {
  return effect === 'write' || effect === 'egress'
}

export function turnContracts({ planner }: ContractOptions): TurnContracts {
  const { whileItRuns, above, outermost: topOf } = activeRuns()
  const counter = callCounter()

  async function derive(ctx: HookContext, top: HookContext, turn: Turn): Promise<Contract> {
    const words = deriveByWords(turn.messages, ctx.tools, turn.confirmed)
    if (!planner || turn.messages.length === 0) return words
    const model = planner === true ? undefined : planner
    try {
      return await deriveByPlanner({ ctx, turn, intent: top.intent, model, words })
    } catch (thrown) {
      ctx.report(thrown, 'contract planner')
      return words
    }
  }

  async function contractOf(ctx: HookContext): Promise<Contract> {
    const top = topOf(ctx)
    const turn = turnOf(top)
    return recordedContract(top, turn, ctx.agent.name, () => derive(ctx, top, turn))
  }

  return {
    whileItRuns,
    // The log of the outermost run has the turn.
    turnOf: (ctx) => turnOf(topOf(ctx)),
    topOf,
    above,
    contractOf,
    async viewOf({ tool, callId }, ctx) {
      const contract = await contractOf(ctx)
      const top = topOf(ctx)
      const turn = turnOf(top)
      return {
        contract,
        used: counter.reserve(top, turn, tool.name, callId),
        confirmed: isConfirmed(top, turn, ctx.agent.name),
      }
    },
    async count({ tool, callId }, ctx) {
      const { grants } = await contractOf(ctx)
      const own = grants.filter((grant) => grant.tool === tool.name)
      if (own.length === 0 || !Number.isFinite(allowedCalls(own))) return
      const top = topOf(ctx)
      await counter.count(top, turnOf(top), tool.name, callId)
    },
    release: (callId) => counter.release(callId),
    async giveBack(result, ctx) {
      const top = topOf(ctx)
      if (top !== ctx) await counter.giveBack(top, result)
    },
    async confirm(ctx) {
      const top = topOf(ctx)
      await confirm(top, turnOf(top), ctx.agent.name, ctx.approval?.by)
    },
  }
}
