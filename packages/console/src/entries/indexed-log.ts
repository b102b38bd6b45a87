import type { ConsoleLabel, IndexAnswer, IndexDetail } from '@provost/server/console'

/** An entry of a log without its body. */
export interface IndexEntry {
  readonly log: string
  readonly run: string
  readonly offset: number
  readonly at: number
  readonly type: string
  /** What was done, or the kind, the way or the reason, as the type has it. */
  readonly op: string
  readonly agent: string
  readonly step: number
  readonly callId: string | undefined
  /** The tool, model, rule, agent or extension. */
  readonly name: string | undefined
  readonly label: ConsoleLabel | undefined
  readonly ms: number | undefined
  readonly tokensIn: number | undefined
  readonly tokensOut: number | undefined
  readonly cost: number | undefined
  readonly detail: IndexDetail
}

/** A log of a session, with its entries in their order. */
export interface IndexedLog {
  readonly log: string
  readonly agent: string
  readonly parent: string | undefined
  /** The call of the parent that spawned it. */
  readonly callId: string | undefined
  readonly entries: readonly IndexEntry[]
}

/** The logs of a session: its own first, each child after the log that spawned it. */
export type SessionIndex = ReadonlyMap<string, IndexedLog>

const noDetail: IndexDetail = {}

/** Adds a page to logs, and returns the logs. Entries that are known are left out. */
export function withPage(before: SessionIndex, { logs, runs, labels, rows }: IndexAnswer): Map<string, IndexedLog> {
  const known = new Map(before)
  const grown = new Map<string, IndexEntry[]>()
  for (const { log, agent, parent, callId } of logs) {
    const old = known.get(log)
    const entries = old ? [...old.entries] : []
    grown.set(log, entries)
    known.set(log, {
      log,
      agent: old && old.agent !== '' ? old.agent : agent,
      parent: old?.parent ?? parent,
      callId: old?.callId ?? callId,
      entries,
    })
  }
  const tools = new Map<string, string>()
  for (const log of grown.keys()) for (const entry of known.get(log)?.entries ?? []) nameCalls(tools, entry)
  for (const row of rows) {
    const [no, run, offset, at, type, op, agent, step, callId, name, label, ms, tokensIn, tokensOut, cost, detail] = row
    const log = logs[no]?.log ?? ''
    const entries = grown.get(log)
    if (!entries || offset <= (entries.at(-1)?.offset ?? 0)) continue
    const entry: IndexEntry = {
      ...{ log, run: runs[run] ?? '', offset, at, type, op: op ?? '', agent, step },
      ...{ callId: callId ?? undefined, name: name ?? undefined },
      label: label === null ? undefined : labels[label],
      ...{ ms: ms ?? undefined, tokensIn: tokensIn ?? undefined, tokensOut: tokensOut ?? undefined },
      ...{ cost: cost ?? undefined, detail: detail ?? noDetail },
    }
    nameCalls(tools, entry)
    const tool = type === 'call' && callId !== null ? tools.get(callId) : undefined
    entries.push(tool === undefined ? entry : { ...entry, name: tool })
  }
  return known
}

/** Returns the number of entries in all logs. */
export function entryCount(index: SessionIndex): number {
  let sum = 0
  for (const { entries } of index.values()) sum += entries.length
  return sum
}

/** Returns the entry of a message, or the one that asks for a call; the last one, if several have the id. */
export function namedEntry(
  index: SessionIndex,
  { message, call }: { readonly message?: string | undefined; readonly call?: string | undefined },
): IndexEntry | undefined {
  if (message === undefined && call === undefined) return undefined
  for (const { entries } of index.values()) {
    const found = entries.findLast(
      ({ type, detail }) =>
        type === 'message' &&
        (call === undefined ? detail.message === message : detail.calls?.some(({ callId }) => callId === call)),
    )
    if (found) return found
  }
  return undefined
}

/** Notes the tools of the calls that an entry asks for: later entries of a call have its id alone. */
export function nameCalls(tools: Map<string, string>, { type, op, callId, name, detail }: IndexEntry): void {
  for (const call of detail.calls ?? []) tools.set(call.callId, call.toolName)
  if (type === 'call' && op === 'planned' && callId !== undefined && name !== undefined) tools.set(callId, name)
}
