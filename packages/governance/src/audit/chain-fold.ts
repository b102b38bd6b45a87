import type { Entry, Fold, Json } from '@provost/core'

import type { AuditLink } from './audit-link.ts'
import { linkIn } from './audit-link.ts'
import { callsIn, editedArgs, isAudited } from './audited-entry.ts'

/** An entry without a link. */
export interface OpenEntry {
  readonly entry: Entry
  /** The arguments that the entry is about: decided, written by an approver, or those that ran. */
  readonly args?: Json
  /** Of a decision: the called tool. */
  readonly toolName?: string
}

/** Calls without a result, by id. */
export type OpenCalls = Map<string, { readonly toolName: string; args?: Json }>

/** The state of a chain. It grows in place: each reader of a log starts empty and keeps a state of its own. */
export interface Chain {
  last: AuditLink | undefined
  /** The offset of the last entry that was read. */
  upTo: number
  /** Entries without a link, oldest first. */
  open: OpenEntry[]
  /** Calls without a result, with the name of the tool and the arguments that were decided last. */
  readonly calls: OpenCalls
  /** Linked calls of the last run whose tools write or send, by run. */
  readonly sinks: Map<string, Set<string>>
}

/** Folds a log into the state of its chain. */
export const chainFold: Fold<Chain | undefined> = {
  key: 'governance/audit-log',
  initial: undefined,
  apply(chain = { last: undefined, upTo: 0, open: [], calls: new Map(), sinks: new Map() }, entry) {
    chain.upTo = entry.offset
    // A failed run may be resumed, until another one starts.
    if (entry.type === 'run' && entry.op === 'started') chain.sinks.clear()
    const link = linkIn(entry)
    if (link) addLink(chain, link)
    else if (isAudited(entry)) chain.open.push(readEntry(chain.calls, entry))
    return chain
  },
}

function addLink(chain: Chain, link: AuditLink): void {
  chain.last = link
  const rows = new Map(link.rows.map((row) => [row.entry, row]))
  const open: OpenEntry[] = []
  for (const one of chain.open) {
    const { entry } = one
    const row = rows.get(entry.id)
    // A link of an earlier release covers an audit row whole, and only a part of other entries.
    if (!row || (link.old && entry.type !== 'audit')) open.push(one)
    else if (row.sink && entry.type === 'call') sinksOf(chain, entry.runId).add(entry.callId)
  }
  chain.open = open
}

/** Returns the calls of a run that count as sinks. */
export function sinksOf({ sinks }: Chain, run: string): Set<string> {
  const known = sinks.get(run) ?? new Set()
  sinks.set(run, known)
  return known
}

/** Returns an entry with the arguments that it is about, and keeps track of open calls. */
export function readEntry(calls: OpenCalls, entry: Entry): OpenEntry {
  for (const { callId, toolName, input } of callsIn(entry)) calls.set(callId, { toolName, args: input })
  const args = editedArgs(entry)
  if (args !== undefined) return { entry, args }
  if (entry.type !== 'call' || (entry.op !== 'decided' && entry.op !== 'settled')) return { entry }
  const call = calls.get(entry.callId)
  const toolName = call?.toolName ?? ''
  if (entry.op === 'decided') {
    if (call) call.args = entry.args
    return { entry, args: entry.args, toolName }
  }
  calls.delete(entry.callId)
  return call?.args === undefined ? { entry } : { entry, args: call.args }
}
