import { defineExtension, isRecord, textOf } from '@provost/core'
import type { Entry, Extension, Fold, Json } from '@provost/core'

import { canonicalBytes } from './canonical.ts'
import { encodedTextsIn } from './encoded-text.ts'
import { withoutEscapes } from './plain-form.ts'

export interface CausalityMonitorOptions {
  /** What happens to an attempt: it is reported, a human is asked, it is denied. Default `ask`. */
  readonly strictness?: 'observe' | 'ask' | 'deny'
}

interface Denials {
  /** Arguments that a human is being asked about, by call. */
  readonly asked: Readonly<Record<string, Json>>
  /** Values of denied calls, by the call that each was first denied in. */
  readonly values: Readonly<Record<string, string>>
  /** More was denied than is kept: from now on nothing can be said to be new. */
  readonly full: boolean
}

const nothing: Denials = { asked: {}, values: {}, full: false }
/** Values kept of denied calls. */
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
      return withValues(state, callId, entry.args)
    }
    const { [callId]: args, ...asked } = state.asked
    if (entry.op !== 'settled' || args === undefined) return state
    const left = { ...state, asked }
    return entry.outcome === 'denied' ? withValues(left, callId, args) : left
  },
}

/** Those who refuse what is no proper call: nobody has judged its effect. */
const formal: ReadonlySet<string> = new Set(['schema', 'registry'])

function withValues(known: Denials, callId: string, args: Json): Denials {
  const effect = effectOf(args)
  const values = { ...known.values }
  let room = mostValues - Object.keys(values).length
  let full = known.full || !effect.whole
  for (const value of effect.values) {
    if (Object.hasOwn(values, value)) continue
    if (room-- > 0) values[value] = callId
    else full = true
  }
  return { ...known, values, full }
}

/** What of an effect was denied before. What is too long to be compared counts as denied once anything was. */
function deniedBefore({ values, full }: Denials, effect: Effect): readonly string[] {
  const calls = new Set(effect.values.flatMap((value) => (Object.hasOwn(values, value) ? [values[value] ?? ''] : [])))
  if (calls.size === 0 && (full || (!effect.whole && Object.keys(values).length > 0))) return ['*']
  return [...calls]
}

/**
 * Watches for a denied effect that is tried again another way: by another tool or agent, at the same destination, with
 * the same values. Calls are compared by what they act on (addresses, hosts, numbers, whole values, in any spelling),
 * not by their words. Only calls that write or send are judged.
 *
 * Where more was denied than it keeps (1,000 values), or a call is longer than it reads (64 Ki), it takes a call for an
 * attempt rather than not. It knows the denials of its own log; those of a child are in the child's.
 */
export function causalityMonitor(options: CausalityMonitorOptions = {}): Extension<unknown> {
  const { strictness = 'ask' } = options
  return defineExtension({
    name: 'causality-monitor',
    scope: 'tree',
    hooks: {
      async 'tool.call'(call, ctx) {
        if (call.tool.effect !== 'write' && call.tool.effect !== 'egress') return undefined
        const denied = deniedBefore(ctx.fold(denials), effectOf(call.input))
        if (denied.length === 0) return undefined
        const evidence = { tool: call.tool.name, denied }
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
        const known = ctx.fold(denials)
        const denied = flow.payload.flatMap((message) => deniedBefore(known, effectOf(textOf(message))))
        if (denied.length === 0) return undefined
        const evidence = { from: flow.from, to: flow.to, kind: flow.kind, denied: [...new Set(denied)] }
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

interface Effect {
  readonly values: readonly string[]
  /** All of it was read. */
  readonly whole: boolean
}

/** What a call acts on, in canonical spelling: short values as they are, and addresses, hosts and numbers in longer ones. */
function effectOf(args: unknown): Effect {
  const found = new Set<string>()
  const short: string[] = []
  const open: unknown[] = [args]
  let left = longestText
  let whole = true
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (left <= 0) return { values: [...noteSplit(short, found)], whole: false }
    if (typeof value === 'string' || typeof value === 'number') {
      const all = String(value)
      const text = all.slice(0, left).normalize('NFKC')
      whole &&= all.length <= left
      left -= all.length
      if (text === '') continue
      noteText(text, found)
      if (text.length <= longestPart) short.push(text)
    } else if (Array.isArray(value) || isRecord(value)) {
      // Even empty ones cost a look; what is nothing would end the loop.
      left--
      for (const item of Array.isArray(value) ? value : Object.values(value)) open.push(item ?? '')
      // A map by address has its addresses in its keys.
      for (const key of Array.isArray(value) ? [] : Object.keys(value)) {
        left -= key.length
        noteAddresses(key.slice(0, longestText).normalize('NFKC'), found)
      }
    }
  }
  return { values: [...noteSplit(short, found)], whole }
}

const longestPart = 100

/** A text as it stands, and as it reads once it is decoded. */
function noteText(text: string, found: Set<string>): void {
  noteWritten(text, found)
  if (text.length < shortestValue * 2) return
  const undone = withoutEscapes(text)?.text
  if (undone !== undefined) noteWritten(undone.normalize('NFKC'), found)
  for (const { says } of encodedTextsIn(text)) noteWritten(says.normalize('NFKC'), found)
}

function noteWritten(text: string, found: Set<string>): void {
  if (text.length <= longestPart) note(text, found)
  noteAddresses(text, found)
}

/** What was put into two values that stand beside each other, in either order. */
function noteSplit(parts: readonly string[], found: Set<string>): ReadonlySet<string> {
  for (const [n, part] of parts.entries()) {
    const next = parts[n + 1]
    if (next === undefined || part.length + next.length > longestPart) continue
    note(part + next, found)
    note(next + part, found)
  }
  return found
}

function noteAddresses(text: string, found: Set<string>): void {
  for (const token of text.split(/[\s<>"'(),;|`=?&{}[\]]+/)) {
    if (/@|:\/\/|\w\.\w/.test(token) || token.replaceAll(/\D/g, '').length >= shortestValue) noteAddress(token, found)
  }
}

function noteAddress(written: string, found: Set<string>): void {
  // What stands behind a plus sign goes to the same box.
  const token = written.replace(/^(?:mailto|tel|sms|sip):/i, '').replace(/\+[^@+]*@/, '@')
  note(token, found)
  const [, host] = /^[a-z][\w+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:]+)/i.exec(token) ?? []
  if (host !== undefined) note(host, found)
}

function note(text: string, found: Set<string>): void {
  const bytes = canonicalBytes(text.toLowerCase())
  if (bytes.length >= shortestValue) found.add(String.fromCharCode(...bytes))
}
