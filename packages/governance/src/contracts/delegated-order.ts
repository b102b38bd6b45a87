import { hash } from 'node:crypto'

import type { Entry, Fold, HookContext, Json, ToolInfo, ToolOutput } from '@provost/core'
import { canonicalJson, finish, hasHidden, isRecord, textOf, toJson } from '@provost/core'

import type { Contract, Grant } from '../provenance/contract.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { isDesignated } from '../provenance/origin.ts'
import { collect, jsonOf } from '../provenance/output-value.ts'
import { deriveFromText } from './derive-by-words.ts'
import { plainDelegation } from './english.ts'
import type { Turn } from './turn.ts'

/** A text that the user pointed at and asked to follow, and the contract that its words give. */
export interface DelegatedOrder {
  /** Hash of the turn, the text and its contract: another text, or another reading of it, is another order. */
  readonly id: string
  /** The tool that returned the text. */
  readonly source: string
  /** The whole text: a human who agrees has read what the contract was derived from. */
  readonly text: string
  readonly grants: readonly Grant[]
  readonly amounts: Contract['amounts']
  readonly forbidden: Contract['forbidden']
}

/** Characters of the longest text that is an order: a question shows all of it. */
const longestOrder = 4_000
/** Texts of a session that are looked at, the last ones. */
const mostOrders = 8

/**
 * Returns the orders that a delegating turn points at. The words of the text derive each, also where a planner derives the
 * contract of the turn: a planner reads no text of an outsider. These texts are no order: those that are too long
 * to be shown, that are labelled secret, or that have characters which a reader does not see.
 *
 * @param tools those of the agent that calls.
 * @param whole the contract of the turn. What the user excluded is never granted.
 */
export function ordersOf(
  whole: Contract,
  turn: Turn,
  tools: readonly ToolInfo[],
  known: Knowledge,
): readonly DelegatedOrder[] {
  if (!whole.delegates && !turn.messages.some((message) => plainDelegation.test(textOf(message)))) return []
  const excluded = new Set(whole.forbidden.flatMap(({ tool, values }) => (values.length === 0 ? [tool] : [])))
  const designated = known.provenance.untrusted.sources.filter((source) => isDesignated(source, known))
  return designated.slice(-mostOrders).flatMap((source) => {
    const text = source.place && readText(source.place.content)
    if (text === undefined || text.length > longestOrder || hasHidden(text)) return []
    if (source.label.confidentiality === 'secret') return []
    const { grants: all, amounts, forbidden } = deriveFromText(text, tools)
    const grants = all
      .filter(({ tool }) => !excluded.has(tool))
      // A human agrees to the words as they are shown.
      .map(({ tool, calls, args, because }): Grant => ({ tool, calls, args, because }))
    if (grants.length === 0) return []
    const id = hash('sha256', canonicalJson(toJson([turn.id, source.name, text, grants, forbidden])))
    return [{ id, source: source.name, text, grants, amounts, forbidden }]
  })
}

/** Returns what was read as text, one value a line. */
function readText(content: ToolOutput | string): string {
  const read = typeof content === 'string' ? content : jsonOf(content)
  const values = finish(collect(read, { integrity: 'untrusted', confidentiality: 'public', sources: [] }, undefined))
  return values.map(({ value }) => value).join('\n')
}

/** Returns a contract with what the human agreed to besides. What the user excluded stays excluded. */
export function withOrders(contract: Contract, orders: readonly DelegatedOrder[]): Contract {
  if (orders.length === 0) return contract
  return {
    ...contract,
    grants: [...contract.grants, ...orders.flatMap(({ grants }) => grants)],
    forbidden: [...contract.forbidden, ...orders.flatMap(({ forbidden }) => forbidden)],
    amounts: [...contract.amounts, ...orders.flatMap(({ amounts }) => amounts)],
  }
}

/** Returns the evidence by which the log knows that a question is about an order. */
export function orderEvidence({ id, source, text, grants, forbidden }: DelegatedOrder): { readonly order: Json } {
  return { order: toJson({ id, source, text, grants, forbidden }) }
}

/** The answers to questions about orders. */
interface Answers {
  readonly asked: Map<string, readonly string[]>
  readonly agreed: Set<string>
  readonly refused: Set<string>
}

const answersFold: Fold<Answers | undefined> = {
  key: 'governance/delegated-orders',
  initial: undefined,
  apply(before, entry: Entry) {
    const answers = before ?? { asked: new Map(), agreed: new Set(), refused: new Set() }
    if (entry.type === 'wait' && entry.kind === 'approval') {
      const ids = orderIds(entry.evidence)
      if (ids.length > 0) answers.asked.set(entry.token, ids)
    } else if (entry.type === 'resolved') {
      // Arguments that the approver edited are another call than the one that was shown.
      const agrees = isRecord(entry.value) && entry.value['decision'] === 'approve' && entry.value['args'] === undefined
      for (const id of answers.asked.get(entry.token) ?? []) (agrees ? answers.agreed : answers.refused).add(id)
      answers.asked.delete(entry.token)
    }
    return answers
  },
}

/** Several asks about one call have a list of evidence. */
function orderIds(evidence: unknown): readonly string[] {
  return (Array.isArray(evidence) ? evidence : [evidence]).flatMap((one: unknown) => {
    const order = isRecord(one) ? one['order'] : undefined
    return isRecord(order) && typeof order['id'] === 'string' ? [order['id']] : []
  })
}

/**
 * Returns what a human answered to an order. The log decides: a yes counts only for a question that showed this order, and
 * one no outweighs it.
 */
export function answerTo(top: HookContext, { id }: DelegatedOrder): 'agreed' | 'refused' | 'open' {
  const answers = top.fold(answersFold)
  if (answers?.refused.has(id)) return 'refused'
  return answers?.agreed.has(id) ? 'agreed' : 'open'
}
