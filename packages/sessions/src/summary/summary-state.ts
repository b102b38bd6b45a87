import type {
  Entry,
  EntryOf,
  ModelUsage,
  NewEntry,
  OpenWait,
  SpendCount,
  Usage,
  UsageReport,
  VerdictCount,
} from '@provost/core'
import { addUsage, assertNever, displayText, isForkMark, isRecord, labelOf, textOf } from '@provost/core'

import { createdIn, isCreated } from '../kit/created-entry.ts'

/** A call without a result, as far as a summary needs it. */
interface OpenCall {
  readonly toolName: string
  /** The offset of the entry with its arguments. */
  readonly from: number
  /** The rule of its last audit entry. */
  rule?: string
  readonly asked?: true
}

/** The state of the fold behind a summary: JSON, so that a store can keep it and continue after its last entry. */
export interface SummaryState {
  offset: number
  title: string
  createdAt: number
  updatedAt: number
  /** Time of the last entry that a database wrote the summary with. */
  storedAt: number
  steps: number
  forkedFrom?: string
  waits: OpenWait[]
  verdicts: Record<string, VerdictCount>
  spend: Record<string, SpendCount>
  /** By call id. */
  calls: Record<string, OpenCall>
  /** What suspended children have used so far, by call id: a later report repeats it. */
  children: Record<string, { agent: string; steps: number; usage?: UsageReport }>
}

/** What an entry changes: tokens, steps and cost alone are `counts`. */
export type SummaryChange = 'nothing' | 'counts' | 'row'

/** Rows of one session at most; further ones are counted under `*`. */
const mostRows = 200
const titleLength = 200
const any = '*'

export function emptySummary(): SummaryState {
  return {
    ...{ offset: 0, title: '', createdAt: 0, updatedAt: 0, storedAt: 0, steps: 0 },
    ...{ waits: [], verdicts: {}, spend: {}, calls: {}, children: {} },
  }
}

/**
 * Updates a state with the next entry of a main log. The cost of an entry does not grow with the log.
 *
 * @returns what changed: `row`, or `counts` alone. Entries that change `nothing` change what later ones need.
 */
export function addToSummary(state: SummaryState, entry: Entry): SummaryChange {
  state.offset = entry.offset
  if (state.createdAt === 0) state.createdAt = entry.at
  const changed = apply(state, entry)
  if (!changed) return 'nothing'
  state.updatedAt = Math.max(state.updatedAt, entry.at)
  return changed === 'counts' ? 'counts' : 'row'
}

/** Whether an entry may change a summary. Other entries change only what later ones need. */
export function changesSummary(entry: NewEntry): boolean {
  switch (entry.type) {
    case 'call':
      return entry.op === 'decided' ? entry.outcome !== 'proceed' : entry.op === 'started' || entry.op === 'settled'
    case 'handoff':
    case 'memo':
    case 'tail':
    case 'view':
      return false
    case 'message':
      return entry.message.role === 'user'
    case 'attempt':
    case 'audit':
    case 'child':
    case 'ext':
    case 'resolved':
    case 'run':
    case 'wait':
      return true
    default:
      return assertNever(entry)
  }
}

function apply(state: SummaryState, entry: Entry): boolean | 'counts' {
  switch (entry.type) {
    case 'run':
      if (entry.op === 'started' || entry.op === 'ended') endRun(state)
      return true
    case 'message':
      return applyMessage(state, entry)
    case 'attempt': {
      const priced = entry.cost === undefined ? {} : { cost: entry.cost }
      const discarded = entry.outcome === 'discarded' ? { discarded: entry.usage } : {}
      addSpend(state, entry, entry.agent, entry.model, { ...entry.usage, ...priced, ...discarded }, 1)
      if (entry.outcome === 'answered' && entry.purpose === undefined) state.steps++
      return 'counts'
    }
    case 'call':
      return applyCall(state, entry)
    case 'wait':
      applyWait(state, entry)
      return true
    case 'resolved':
      return applyResolved(state, entry)
    case 'child':
      return applyChild(state, entry)
    case 'audit':
      return applyAudit(state, entry)
    case 'ext':
      if (isForkMark(entry) && isRecord(entry.data)) {
        const { sessionId } = entry.data
        if (typeof sessionId === 'string') state.forkedFrom ??= sessionId
        return true
      }
      return isCreated(entry) && createdIn(entry).agent !== ''
    case 'handoff':
    case 'memo':
    case 'tail':
    case 'view':
      return false
    default:
      return assertNever(entry)
  }
}

function endRun(state: SummaryState): void {
  state.waits = []
  state.calls = {}
  state.children = {}
}

function applyMessage(state: SummaryState, { message, offset, via, unsaid }: EntryOf<'message'>): boolean {
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted === true || unsaid) continue
    state.calls[part.callId] = { toolName: part.toolName, from: offset }
  }
  if (state.title !== '' || message.role !== 'user' || via === 'system') return false
  const { confidentiality, readers } = labelOf(message)
  if (confidentiality === 'secret' || readers) return false
  const text = textOf(message).trim()
  const line = text.slice(0, titleLength).replaceAll(/\s+/gu, ' ')
  state.title = displayText(text.length > titleLength ? `${line}…` : line)
  return state.title !== ''
}

function applyCall(state: SummaryState, entry: Extract<Entry, { type: 'call' }>): boolean {
  switch (entry.op) {
    case 'planned':
      state.calls[entry.callId] = { toolName: entry.toolName, from: entry.offset }
      return false
    case 'decided': {
      const call = state.calls[entry.callId]
      if (!call || entry.outcome === 'result') return false
      // An approved call is decided again; it was counted when it was asked about.
      const isAgain = call.asked === true && entry.outcome !== 'deny'
      const field = entry.outcome === 'proceed' ? 'allowed' : entry.outcome === 'ask' ? 'asked' : 'denied'
      if (!isAgain && !(call.asked && field === 'denied')) count(state, call.rule ?? entry.by, call.toolName, field)
      state.calls[entry.callId] = {
        ...call,
        from: entry.offset,
        ...(entry.outcome === 'ask' && { asked: true, rule: call.rule ?? entry.by }),
      }
      // Counted with the next change: most calls are allowed, and a store writes each change.
      return entry.outcome !== 'proceed'
    }
    case 'started':
      return closeWaits(state, ({ kind, callId }) => callId === entry.callId && kind === 'uncertain')
    case 'settled': {
      delete state.calls[entry.callId]
      for (const id of Object.keys(state.children)) if (id.startsWith(`${entry.callId}/`)) delete state.children[id]
      return closeWaits(
        state,
        ({ callId, childCallId }) => callId === entry.callId || childCallId?.startsWith(`${entry.callId}/`) === true,
      )
    }
    case 'deferred':
    case 'parked':
      return false
    default:
      return assertNever(entry)
  }
}

function applyWait(
  state: SummaryState,
  { token, kind, at, offset, agent, callId, child, ...entry }: EntryOf<'wait'>,
): void {
  const call = callId === undefined ? undefined : state.calls[callId]
  closeWaits(state, (wait) => wait.token === token)
  const opened = {
    ...{ token, kind, at, offset },
    agent: child?.agent ?? agent,
    toolName: child?.toolName ?? call?.toolName ?? '',
    from: call?.from ?? offset,
    ...(callId !== undefined && { callId }),
    ...(child && { childCallId: child.callId }),
    ...(call?.rule !== undefined && { rule: call.rule }),
  }
  state.waits = [...state.waits, opened]
  // A held answer of the model has no decision entry.
  if (kind === 'approval' && callId === undefined && !child)
    count(state, ruleOf(entry.evidence) ?? 'answer', '', 'asked')
}

function ruleOf(evidence: unknown): string | undefined {
  const rule = isRecord(evidence) ? evidence['rule'] : undefined
  return typeof rule === 'string' ? rule : undefined
}

function applyResolved(state: SummaryState, { token, value }: EntryOf<'resolved'>): boolean {
  const wait = state.waits.find((one) => one.token === token)
  if (!wait) return false
  closeWaits(state, (one) => one === wait)
  if (wait.kind === 'approval' && wait.childCallId === undefined) {
    const approves = isRecord(value) && value['decision'] === 'approve'
    count(state, wait.rule ?? 'answer', wait.toolName, approves ? 'approved' : 'refused')
  }
  return true
}

function closeWaits(state: SummaryState, closes: (wait: OpenWait) => boolean): boolean {
  if (state.waits.length === 0) return false
  const left = state.waits.filter((wait) => !closes(wait))
  const changed = left.length < state.waits.length
  state.waits = left
  return changed
}

function applyChild(state: SummaryState, entry: Extract<Entry, { type: 'child' }>): boolean | 'counts' {
  const { callId, at } = entry
  if (entry.op === 'spawned') {
    state.children[callId] ??= { agent: entry.agent, steps: 0 }
    return false
  }
  const known = state.children[callId] ?? { agent: any, steps: 0 }
  for (const [model, usage] of Object.entries(entry.usage.byModel)) {
    const before = known.usage?.byModel[model]
    addSpend(state, { at }, known.agent, model, before ? difference(usage, before) : usage, 0)
  }
  state.steps += entry.steps - known.steps
  if (entry.status === 'suspended') {
    state.children[callId] = { agent: known.agent, steps: entry.steps, usage: entry.usage }
    return 'counts'
  }
  delete state.children[callId]
  return closeWaits(state, ({ childCallId }) => childCallId === callId) || 'counts'
}

function applyAudit(state: SummaryState, entry: EntryOf<'audit'>): boolean {
  const call = entry.callId === undefined ? undefined : state.calls[entry.callId]
  if (entry.decision === 'declassified') count(state, entry.rule, call?.toolName ?? '', 'declassified')
  else if (isRecord(entry.evidence) && entry.evidence['mode'] === 'shadow')
    count(state, entry.rule, call?.toolName ?? '', 'flagged')
  else if (call) call.rule = entry.rule
  else if (entry.decision === 'blocked') count(state, entry.rule, '', 'denied')
  return true
}

type Field = Exclude<keyof VerdictCount, 'rule' | 'toolName'>

function count(state: SummaryState, rule: string, toolName: string, field: Field): void {
  const { verdicts } = state
  const key = rowKey(verdicts, [rule, toolName])
  const none = { allowed: 0, asked: 0, approved: 0, refused: 0, denied: 0, declassified: 0, flagged: 0 }
  const row = verdicts[key] ?? { rule: key === any ? any : rule, toolName: key === any ? any : toolName, ...none }
  verdicts[key] = { ...row, [field]: row[field] + 1 }
}

function addSpend(
  state: SummaryState,
  { at }: { readonly at: number },
  agent: string,
  model: string,
  usage: ModelUsage,
  calls: number,
): void {
  const day = new Date(at).toISOString().slice(0, 10)
  const { spend } = state
  const key = rowKey(spend, [day, agent, model])
  const row = spend[key]
  const { cost, discarded, ...tokens } = usage
  const isUnpriced = cost === undefined && (tokens.inputTokens ?? 0) + (tokens.outputTokens ?? 0) !== 0
  const lost = discarded ? addUsage(row?.discarded ?? {}, discarded) : row?.discarded
  spend[key] = {
    day,
    agent: key === any ? any : agent,
    model: key === any ? any : model,
    usage: addUsage(row?.usage ?? {}, tokens),
    cost: (row?.cost ?? 0) + (cost ?? 0),
    calls: (row?.calls ?? 0) + calls,
    ...((isUnpriced || row?.unpriced) && { unpriced: true }),
    ...(lost && { discarded: lost }),
  }
}

/** Returns the key of a row. Keys are JSON, since names may contain any character. */
function rowKey(rows: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  const key = JSON.stringify(names)
  return Object.hasOwn(rows, key) || Object.keys(rows).length < mostRows ? key : any
}

const counters = ['inputTokens', 'outputTokens', 'reasoningTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const

function difference(now: ModelUsage, before: ModelUsage): ModelUsage {
  const { cost, discarded } = now
  return {
    ...minus(now, before),
    ...(cost !== undefined && { cost: cost - (before.cost ?? 0) }),
    ...(discarded && { discarded: minus(discarded, before.discarded ?? {}) }),
  }
}

function minus(now: Usage, before: Usage): Usage {
  const left: { -readonly [K in keyof Usage]: Usage[K] } = {}
  for (const counter of counters) {
    const value = now[counter]
    if (value !== undefined) left[counter] = value - (before[counter] ?? 0)
  }
  if (now.estimated) left.estimated = true
  return left
}
