import type { Entry, EntryOf, Fold, Message } from '@provost/core'
import { isRecord } from '@provost/core'

/** The name of the extension, under which its entries stand in the log. */
export const extensionName = 'compaction'

/** What compaction knows of a session: all of it from its log, so that no session knows of another. */
export interface CompactionState {
  /** Ids of the messages that compactions have put in. */
  readonly own: Set<string>
  /** Ids of what the runtime said in the user's role: the steps of a plan, and what did not fit. */
  readonly said: Set<string>
  /** What an orchestrator has planned, and how much it has said since: it says one step after the other. */
  plan: { readonly steps: readonly string[]; readonly said: number } | undefined
  /** Nothing could be done when the request was this long: it is not tried again before it has grown. */
  held: number | undefined
  /** Tokens of requests that a model refused as too long, by its name: less than its window may hold. */
  readonly refused: Map<string, number>
  /** Approvals that nobody has given or refused. */
  readonly waits: Map<string, EntryOf<'wait'>>
}

/** Reads it from the log. */
export const compactionFold: Fold<CompactionState | undefined> = {
  key: 'memory/compaction',
  initial: undefined,
  apply(state = empty(), entry) {
    read(state, entry)
    return state
  },
}

/** Where an orchestrator keeps its plan. */
const isPlan = /\/orchestrator\/\d+\/plan\/\d+$/

/** What of the plan is not done, the step under way first. */
export function openSteps({ plan }: CompactionState): readonly string[] {
  return plan ? plan.steps.slice(Math.max(0, plan.said - 1)) : []
}

/** Whether a message is somebody's request, and not put in by a compaction or said by the runtime. */
export function isRequest({ role, id }: Message, { own, said }: CompactionState): boolean {
  return role === 'user' && !own.has(id) && !said.has(id)
}

/** Of a log in which nothing is. */
export function empty(): CompactionState {
  return { own: new Set(), said: new Set(), plan: undefined, held: undefined, refused: new Map(), waits: new Map() }
}

function read(state: CompactionState, entry: Entry): void {
  switch (entry.type) {
    case 'view':
      state.held = undefined
      if (!entry.compacted) break
      // Those of the messages that stood there before have other ids.
      for (const { id } of entry.with) if (id.startsWith(`${entry.id}/`)) state.own.add(id)
      break
    case 'message':
      if (entry.via !== 'system' || entry.message.role !== 'user') break
      state.said.add(entry.message.id)
      if (state.plan) state.plan = { ...state.plan, said: state.plan.said + 1 }
      break
    case 'handoff':
      // Whoever takes over has plans of its own.
      if (entry.mode === 'transfer' && entry.denied === undefined) state.plan = undefined
      break
    case 'memo': {
      const steps = isPlan.test(entry.key) && isRecord(entry.value) ? entry.value['steps'] : undefined
      if (Array.isArray(steps)) state.plan = { steps: steps.filter((step) => typeof step === 'string'), said: 0 }
      break
    }
    case 'ext': {
      if (entry.name !== extensionName || !isRecord(entry.data)) break
      const { held, refused, model } = entry.data
      if (typeof held === 'number') state.held = held
      if (typeof refused === 'number' && typeof model === 'string') state.refused.set(model, refused)
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
    default:
  }
}
