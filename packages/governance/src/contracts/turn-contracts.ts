import type { HookContext, Message, ModelSpec, ToolInfo } from '@provost/core'

import { allowedCalls } from '../provenance/contract.ts'
import type { Contract } from '../provenance/contract.ts'
import { activeRuns } from './active-runs.ts'
import { confirm, isConfirmed, recordedContract, recordedPart } from './contract-entry.ts'
import { partOf } from './contract-part.ts'
import type { DelegatedOrder } from './delegated-order.ts'
import { withOrders } from './delegated-order.ts'
import { deriveByPlanner } from './derive-by-planner.ts'
import { deriveByWords } from './derive-by-words.ts'
import type { Turn } from './turn.ts'
import { messagesOfRun, turnOf } from './turn.ts'

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
  /**
   * How a text that the user asks to follow (“do what the ticket says”) is asked about. `once`: one question shows the whole
   * text and all that it asks for, and a yes to it allows these calls; whatever answers approvals has to read
   * `evidence.order`. `each`: each call that takes something from the text is a question of its own. Default `each`.
   */
  readonly delegation?: 'once' | 'each'
}

/** What a contract says of the calls of one tool. */
export interface CallTerms {
  readonly contract: Contract
  /** A human has confirmed the contract as a whole. */
  readonly confirmed: boolean
  /** Counters that a call adds one to, and how many calls each allows: that of the turn, and that of a child's part. */
  readonly limits: readonly { readonly counter: string; readonly calls: number }[]
}

/** The turns of the runs that a policy governs, and their contracts. A child has a part of that of the outermost run. */
export interface TurnContracts {
  /** Makes a run known to its children while it is active. */
  whileItRuns<T>(ctx: HookContext, next: () => Promise<T>): Promise<T>
  turnOf(ctx: HookContext): Turn
  /** Returns the context of the outermost run that the policy governs. */
  topOf(ctx: HookContext): HookContext
  /** Returns the context of the run that spawned this one, if the policy governs it in this process. */
  above(ctx: HookContext): HookContext | undefined
  /** Derives the contract of the present turn, or reads it from the log; in a child its part. */
  contractOf(ctx: HookContext): Promise<Contract>
  /**
   * Returns the contract as it applies to the calls of a tool.
   *
   * @param orders texts that the user delegated to, and a human agreed to in full.
   */
  termsOf(tool: ToolInfo, ctx: HookContext, orders: readonly DelegatedOrder[]): Promise<CallTerms>
  /** Records that a human confirmed the contract of the present turn. */
  confirm(ctx: HookContext): Promise<void>
}

/** Returns whether calls of a tool write or send. */
export function isSink({ effect }: ToolInfo): boolean {
  return effect === 'write' || effect === 'egress'
}

export function turnContracts({ planner }: ContractOptions): TurnContracts {
  const { whileItRuns, above, outermost: topOf } = activeRuns()

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

  function wholeOf(ctx: HookContext, top: HookContext): Promise<Contract> {
    const turn = turnOf(top)
    return recordedContract(top, turn, ctx.agent.name, () => derive(ctx, top, turn))
  }

  async function contractOf(ctx: HookContext): Promise<Contract> {
    const top = topOf(ctx)
    const whole = await wholeOf(ctx, top)
    if (top === ctx) return whole
    return recordedPart(ctx, turnOf(top), () => {
      const tasks: (readonly Message[])[] = []
      for (let run: HookContext | undefined = ctx; run && run !== top; run = above(run)) tasks.push(messagesOfRun(run))
      return partOf(whole, tasks, ctx.tools)
    })
  }

  return {
    whileItRuns,
    // The log of the outermost run has the turn.
    turnOf: (ctx) => turnOf(topOf(ctx)),
    topOf,
    above,
    contractOf,
    async termsOf({ name }, ctx, orders) {
      const contract = withOrders(await contractOf(ctx), orders)
      const top = topOf(ctx)
      const turn = turnOf(top)
      const whole = top === ctx ? contract : withOrders(await wholeOf(ctx, top), orders)
      const limits = [
        { counter: `contract/${turn.id}/${name}`, calls: callsIn(whole, name) },
        ...(top === ctx ? [] : [{ counter: `part/${ctx.run.id}/${name}`, calls: callsIn(contract, name) }]),
      ]
      return {
        contract,
        confirmed: isConfirmed(top, turn, ctx.agent.name),
        limits: limits.filter(({ calls }) => calls > 0 && Number.isFinite(calls)),
      }
    },
    async confirm(ctx) {
      const top = topOf(ctx)
      await confirm(top, turnOf(top), ctx.agent.name, ctx.approval?.by)
    },
  }
}

function callsIn({ grants }: Contract, name: string): number {
  return allowedCalls(grants.filter(({ tool }) => tool === name))
}
