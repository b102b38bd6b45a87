import type { Entry, EntryOf, Fold, Message } from '@provost/core'
import { assertNever, isRecord, messagesOfView, purposeOf } from '@provost/core'

/** The name of the extension, and of its entries in the log. */
export const extensionName = 'compaction'

/** The state of compaction in a session, read from the session's log only. */
export interface CompactionState {
  /** Ids of the messages that compactions added. */
  readonly summaryIds: Set<string>
  /** Ids of messages that the runtime wrote: plan steps, handoff notes, and requests to repair an answer. */
  readonly fromRuntime: Set<string>
  /** The plan of an orchestrator, and the number of steps that it has sent. It sends one step after the other. */
  plan: { readonly steps: readonly string[]; readonly sent: number } | undefined
  /** The size of a request that compaction could not shorten. It is tried again once the request has grown. */
  irreducibleTokens: number | undefined
  /** Tokens of the shortest request that a model rejected as too long, by the model's name. */
  readonly rejectedTokens: Map<string, number>
  /** Approvals that are still open. */
  readonly waits: Map<string, EntryOf<'wait'>>
}

/** Folds the state from the log. */
export const compactionFold: Fold<CompactionState | undefined> = {
  key: 'memory/compaction',
  initial: undefined,
  apply(state = empty(), entry) {
    read(state, entry)
    return state
  },
}

/** Matches the entry id of an orchestrator's plan. */
const isPlan = /\/orchestrator\/\d+\/plan\/\d+$/

/** Returns the open steps of the plan, starting with the current one. */
export function openSteps({ plan }: CompactionState): readonly string[] {
  return plan ? plan.steps.slice(Math.max(0, plan.sent - 1)) : []
}

/** Returns whether a message is a user's request, and not added by a compaction or by the runtime. */
export function isRequest({ role, id }: Message, { summaryIds, fromRuntime }: CompactionState): boolean {
  return role === 'user' && !summaryIds.has(id) && !fromRuntime.has(id)
}

/** Returns the state of an empty log. */
export function empty(): CompactionState {
  return {
    summaryIds: new Set(),
    fromRuntime: new Set(),
    plan: undefined,
    irreducibleTokens: undefined,
    rejectedTokens: new Map(),
    waits: new Map(),
  }
}

function read(state: CompactionState, entry: Entry): void {
  switch (entry.type) {
    case 'view':
      state.irreducibleTokens = undefined
      if (!entry.compacted) break
      for (const { id, purpose } of messagesOfView(entry)) if (purpose === 'summary') state.summaryIds.add(id)
      break
    case 'message': {
      const purpose = purposeOf(entry)
      if (purpose === undefined) break
      state.fromRuntime.add(entry.message.id)
      if (state.plan && purpose === 'orchestrator') state.plan = { ...state.plan, sent: state.plan.sent + 1 }
      break
    }
    case 'handoff':
      // The agent that takes over makes its own plan.
      if (entry.mode === 'transfer' && entry.denied === undefined) state.plan = undefined
      break
    case 'memo': {
      const steps = isPlan.test(entry.key) && isRecord(entry.value) ? entry.value['steps'] : undefined
      if (Array.isArray(steps)) state.plan = { steps: steps.filter((step) => typeof step === 'string'), sent: 0 }
      break
    }
    case 'ext': {
      if (entry.name !== extensionName || !isRecord(entry.data)) break
      const { held, refused, model } = entry.data
      if (typeof held === 'number') state.irreducibleTokens = held
      if (typeof refused === 'number' && typeof model === 'string') state.rejectedTokens.set(model, refused)
      break
    }
    case 'wait':
      if (entry.kind === 'approval') state.waits.set(entry.token, entry)
      break
    case 'resolved':
      state.waits.delete(entry.token)
      break
    case 'run':
      if (entry.op !== 'ended') break
      state.waits.clear()
      state.plan = undefined
      break
    case 'attempt':
    case 'call':
    case 'child':
    case 'tail':
    case 'audit':
      break
    default:
      assertNever(entry)
  }
}
