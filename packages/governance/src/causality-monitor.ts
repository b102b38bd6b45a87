import { defineExtension, isRecord, textOf } from '@provost/core'
import type { Entry, Extension, Fold, Json } from '@provost/core'

import { canonicalBytes } from './canonical.ts'

export interface CausalityMonitorOptions {
  /** What happens to an attempt: it is reported, a human is asked, it is denied. Default `ask`. */
  readonly strictness?: 'observe' | 'ask' | 'deny'
}

interface Denials {
  /** Arguments that a human is being asked about, by call. */
  readonly asked: Readonly<Record<string, Json>>
  /** Values of denied calls, by the call that each was first denied in. */
  readonly values: Readonly<Record<string, string>>
}

const nothing: Denials = { asked: {}, values: {} }
/** Values kept of denied calls; what comes later is still in the log. */
const mostValues = 1_000
const shortestValue = 6
const longestText = 65_536

/** Calls that were denied, and what they were to act on: a fold, so that a resumed run knows them. */
const denials: Fold<Denials> = {
  key: 'governance/denials',
  initial: nothing,
  apply(state: Denials, entry: Entry): Denials {
    if (entry.type !== 'call') return state
    const { callId } = entry
    if (entry.op === 'decided' && entry.outcome === 'ask') {
      return { ...state, asked: { ...state.asked, [callId]: entry.args } }
    }
    if (entry.op === 'decided' && entry.outcome === 'deny' && !formal.has(entry.by)) {
      return { ...state, values: withValues(state.values, callId, entry.args) }
    }
    const { [callId]: args, ...asked } = state.asked
    if (entry.op !== 'settled' || args === undefined) return state
    return { asked, values: entry.outcome === 'denied' ? withValues(state.values, callId, args) : state.values }
  },
}

/** Those who refuse what is no proper call: nobody has judged its effect. */
const formal: ReadonlySet<string> = new Set(['schema', 'registry'])

function withValues(known: Denials['values'], callId: string, args: Json): Denials['values'] {
  const values = { ...known }
  let room = mostValues - Object.keys(values).length
  for (const value of effectValues(args)) {
    if (room <= 0) break
    if (values[value] === undefined) room--
    values[value] ??= callId
  }
  return values
}

/**
 * Watches for a denied effect that is tried again another way: by another tool or agent, at the same destination, with
 * the same values. Calls are compared by what they act on (addresses, hosts, numbers, whole values, in any spelling),
 * not by their words. Only calls that write or send are judged.
 *
 * It knows the denials of its own log; those of a child are in the child's.
 */
export function causalityMonitor(options: CausalityMonitorOptions = {}): Extension<unknown> {
  const { strictness = 'ask' } = options
  return defineExtension({
    name: 'causality-monitor',
    scope: 'tree',
    hooks: {
      async 'tool.call'(call, ctx) {
        if (call.tool.effect !== 'write' && call.tool.effect !== 'egress') return undefined
        const { values } = ctx.fold(denials)
        const again = effectValues(call.input).filter((value) => Object.hasOwn(values, value))
        if (again.length === 0) return undefined
        const evidence = { tool: call.tool.name, denied: [...new Set(again.map((value) => values[value]))] }
        // A human who has seen this very call is asked once.
        if (ctx.approval?.decision === 'approve' && strictness !== 'deny') return undefined
        const decision = strictness === 'deny' ? 'blocked' : 'flagged'
        await ctx.audit(decision, { rule: 'causality', callId: call.callId, sources: call.label.sources, evidence })
        if (strictness === 'observe') return undefined
        const reason = 'A call that would have the same effect was denied before.'
        return strictness === 'deny'
          ? { deny: `${reason} Do not try to reach it another way; tell the user.` }
          : { ask: { reason, evidence } }
      },
      async handoff(flow, ctx) {
        const { values } = ctx.fold(denials)
        const again = flow.payload
          .flatMap((message) => effectValues(textOf(message)))
          .filter((value) => Object.hasOwn(values, value))
        if (again.length === 0) return undefined
        const evidence = {
          from: flow.from,
          to: flow.to,
          kind: flow.kind,
          denied: [...new Set(again.map((value) => values[value]))],
        }
        await ctx.audit(strictness === 'deny' ? 'blocked' : 'flagged', {
          rule: 'causality',
          callId: flow.callId,
          sources: flow.label.sources,
          evidence,
        })
        if (strictness === 'observe') return undefined
        const reason = `${flow.to} would be told to do what was denied before.`
        return strictness === 'deny' ? { deny: reason } : { ask: { reason, evidence } }
      },
    },
  })
}

/** What a call acts on, in canonical spelling: short values as they are, and addresses, hosts and numbers in longer ones. */
function effectValues(args: unknown): string[] {
  const found = new Set<string>()
  const open: unknown[] = [args]
  let left = longestText
  for (let value = open.pop(); value !== undefined && left > 0; value = open.pop()) {
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).normalize('NFKC').slice(0, left)
      left -= text.length
      if (text.length <= 100) note(text, found)
      for (const token of text.split(/[\s<>"'(),;|`=]+/)) {
        if (/@|:\/\/|\w\.\w/.test(token) || token.replaceAll(/\D/g, '').length >= shortestValue)
          noteAddress(token, found)
      }
    } else if (Array.isArray(value)) open.push(...value)
    else if (isRecord(value)) open.push(...Object.values(value))
  }
  return [...found]
}

function noteAddress(token: string, found: Set<string>): void {
  note(token, found)
  const [, host] = /^[a-z][\w+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:]+)/i.exec(token) ?? []
  if (host !== undefined) note(host, found)
}

function note(text: string, found: Set<string>): void {
  const bytes = canonicalBytes(text.toLowerCase())
  if (bytes.length >= shortestValue) found.add(String.fromCharCode(...bytes))
}
