import { hash } from 'node:crypto'

import type { Entry, Fold, HookContext, Json } from '@provost/core'
import { canonicalJson, isRecord } from '@provost/core'

import { switchesIn } from '../provenance/argument-role.ts'
import type { ArgumentValue } from '../provenance/argument-role.ts'
import type { ContractView, Grant } from '../provenance/contract.ts'

/** The name of the policy's entries in the log. */
export const policyName = 'data-flow-policy'

/** What a call adds to counters, by name: to those of rules, and to the counts of contracts. */
export type Amounts = Readonly<Record<string, number>>

/** Sums of counters, and what each call added. Each reader of a log builds it anew. */
interface Counters {
  readonly sums: Map<string, number>
  readonly calls: Map<string, Amounts>
}

const countersFold: Fold<Counters | undefined> = {
  key: 'governance/session-counters',
  initial: undefined,
  apply(before, entry) {
    const counters = before ?? { sums: new Map(), calls: new Map() }
    if (entry.type === 'memo' && entry.key.includes(`/${policyName}/counters/`)) add(counters, entry.value)
    else if (entry.type === 'ext' && entry.name === policyName && isRecord(entry.data))
      remove(counters, entry.data['uncounted'])
    else remove(counters, callWithoutEffect(entry))
    return counters
  },
}

/**
 * Returns the call that an entry ends without an effect. A timeout, an abort, and an end that is unknown count: the effect
 * may have taken place.
 */
function callWithoutEffect(entry: Entry): string | undefined {
  if (entry.type !== 'call' || entry.op !== 'settled' || entry.unknown === true) return undefined
  const { outcome, callId } = entry
  return outcome === 'denied' || outcome === 'skipped' || outcome === 'error' ? callId : undefined
}

function add(counters: Counters, value: Json): void {
  if (!isRecord(value)) return
  const { callId, amounts } = value
  if (typeof callId !== 'string' || !isRecord(amounts)) return
  remove(counters, callId)
  const added: Record<string, number> = {}
  for (const [name, amount] of Object.entries(amounts)) {
    if (typeof amount !== 'number' || !(amount > 0)) continue
    added[name] = amount
    counters.sums.set(name, (counters.sums.get(name) ?? 0) + amount)
  }
  counters.calls.set(callId, added)
}

function remove({ sums, calls }: Counters, callId: unknown): void {
  const known = typeof callId === 'string' ? calls.get(callId) : undefined
  if (typeof callId !== 'string' || !known) return
  calls.delete(callId)
  for (const [name, amount] of Object.entries(known)) sums.set(name, (sums.get(name) ?? 0) - amount)
}

/** Folds the calls of a log that ended without an effect. Each reader of a log builds it anew. */
const endedFold: Fold<string[] | undefined> = {
  key: 'governance/ended-without-effect',
  initial: undefined,
  apply(before, entry) {
    const ended = before ?? []
    const callId = callWithoutEffect(entry)
    if (callId !== undefined) ended.push(callId)
    return ended
  },
}

/** Counts what the calls of a tree of runs add to counters, in the log of its outermost run. */
export interface SessionCounters {
  /** Reserves the amounts of a call that is being judged. Returns the sums without this call. */
  reserve(top: HookContext, callId: string, amounts: Amounts): (counter: string) => number
  /** Records the amounts of a call that runs or waits for an approval. */
  record(top: HookContext, callId: string): Promise<void>
  /** Ends the reservation of a call that was judged. */
  release(callId: string): void
  /** Takes back the amounts of calls of a child that ended without an effect: the log of the outermost run lacks their end. */
  giveBack(top: HookContext, ctx: HookContext): Promise<void>
}

export function sessionCounters(): SessionCounters {
  /** Amounts of calls that are being judged, and are not in the log yet. */
  const reserved = new Map<string, { readonly session: string; readonly amounts: Amounts }>()
  /** How many calls of a list were looked at: a call is given back once. */
  const returned = new WeakMap<readonly string[], number>()
  return {
    reserve(top, callId, amounts) {
      const session = top.run.sessionId
      const { sums, calls } = top.fold(countersFold) ?? { sums: new Map(), calls: new Map() }
      reserved.set(callId, { session, amounts })
      return (counter) => {
        let sum = (sums.get(counter) ?? 0) - (amountIn(calls.get(callId), counter) ?? 0)
        for (const [id, one] of reserved)
          if (id !== callId && one.session === session && !calls.has(id)) sum += amountIn(one.amounts, counter) ?? 0
        return sum
      }
    },
    async record(top, callId) {
      const amounts = reserved.get(callId)?.amounts
      if (!amounts || Object.keys(amounts).length === 0) return
      // An approver may have edited the arguments: then the call adds other amounts.
      const version = hash('sha256', canonicalJson(amounts)).slice(0, 16)
      await top.memo(`counters/${callId}/${version}`, () => ({ callId, amounts }))
    },
    release: (callId) => void reserved.delete(callId),
    async giveBack(top, ctx) {
      const ended = top === ctx ? undefined : ctx.fold(endedFold)
      if (!ended) return
      for (let at = returned.get(ended) ?? 0; at < ended.length; at++) {
        returned.set(ended, at + 1)
        const callId = ended[at]
        if (callId === undefined || !top.fold(countersFold)?.calls.has(callId)) continue
        await top.append(`uncounted/${callId}`, { uncounted: callId })
      }
    },
  }
}

function amountIn(amounts: Amounts | undefined, counter: string): number | undefined {
  return amounts && Object.hasOwn(amounts, counter) ? amounts[counter] : undefined
}

/** Compares a call with those of its turn that had its tool. */
export interface TurnCounters {
  /** What the call adds to the counters of the turn. */
  readonly amounts: Amounts
  /** Returns what these say of earlier calls, given the grants of the tool. */
  compare(
    counted: (counter: string) => number,
    grants: readonly Grant[],
  ): Omit<ContractView, 'contract' | 'used' | 'confirmed'>
}

/** Returns the counters of a turn that tell whether a call was made before, and with which details to the same targets. */
export function turnCounters(
  turnId: string,
  { tool, input }: { readonly tool: { readonly name: string }; readonly input: Json },
  values: readonly ArgumentValue[],
): TurnCounters {
  const keyOf = (kind: string, ...parts: readonly Json[]): string =>
    `${kind}/${turnId}/${hash('sha256', canonicalJson([tool.name, ...parts]))}`
  const rows = (...roles: readonly ArgumentValue['role'][]): Json =>
    values.filter(({ role }) => roles.includes(role)).map(({ path, value }) => [path, value])
  const targets = rows('destination', 'selector')
  const same = keyOf('same', input)
  const toTargets = keyOf('targets', targets)
  const details = keyOf('details', targets, rows('time', 'flag'))
  const switches = keyOf('switches', targets, switchesIn(input))
  const hasTargets = values.some(({ role }) => role === 'destination' || role === 'selector')
  const callsOf = (name: string): string => `calls/${turnId}/${name}`
  return {
    amounts: { [same]: 1, [callsOf(tool.name)]: 1, ...(hasTargets && { [toTargets]: 1, [details]: 1, [switches]: 1 }) },
    compare: (counted, grants) => ({
      same: counted(same),
      toTargets: hasTargets ? counted(toTargets) : 0,
      hasOtherDetails: counted(details) === 0,
      hasOtherSwitches: counted(switches) === 0,
      isServed:
        counted(callsOf(tool.name)) === 0 &&
        grants.length > 0 &&
        grants.every(({ yieldsTo }) => yieldsTo?.some((name) => counted(callsOf(name)) > 0) === true),
    }),
  }
}
