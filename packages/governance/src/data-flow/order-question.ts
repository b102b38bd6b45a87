import type { ArgRole, ToolCall } from '@provost/core'
import { isRecord } from '@provost/core'

import type { DelegatedOrder } from '../contracts/delegated-order.ts'
import { orderEvidence } from '../contracts/delegated-order.ts'
import type { Grant } from '../provenance/contract.ts'
import type { Sink } from '../provenance/data-flow-rule.ts'
import { exactForm, holds } from '../wording/exact-form.ts'
import { argumentOrigins } from './argument-origin.ts'
import { prohibitionOf } from './contract-rule.ts'
import type { Decision } from './judge-sink.ts'

/**
 * Returns the decision where a text that the user delegated to is asked about once: the question about a call within an
 * open order is about the order. A call that only the text asks for never passes without a question.
 */
export function askedOnce(
  sink: Sink,
  open: readonly DelegatedOrder[],
  decision: Decision | undefined,
): Decision | undefined {
  if (prohibitionOf(sink)) return decision
  const order = open.find((one) => isWithin(sink, one))
  if (order && (decision || sink.implied === 'delegated')) return ordering(sink, order, decision)
  return decision ?? unagreed(sink)
}

/** Roles of values that a call within an order takes from it, or from the user. */
const taken: ReadonlySet<string> = new Set<ArgRole>([
  'destination',
  'selector',
  'credential',
  'attachment',
  'amount',
  'time',
  'flag',
])

/** Returns whether an order asks for the tool of a call. */
export function grantsTool({ grants }: Pick<DelegatedOrder, 'grants'>, { tool }: ToolCall): boolean {
  return grants.some((grant) => grant.tool === tool.name)
}

/** Returns whether an order asks for a call, with these values. What exceeds the order is a question of its own. */
function isWithin({ call, values }: Sink, order: DelegatedOrder): boolean {
  if (!grantsTool(order, call)) return false
  const form = exactForm(order.text)
  return values.every(
    ({ role, value, origin }) =>
      !taken.has(role) || origin.kind === 'own' || origin.kind === 'trusted' || holds(form, exactForm(value)),
  )
}

/** Returns the question about a text that the user delegated to: one for all calls that it asks for. */
function ordering(sink: Sink, order: DelegatedOrder, decision: Decision | undefined): Decision {
  const asked = decision && 'ask' in decision.answer ? decision.answer.ask : undefined
  const reason = `the text of ${order.source} asks for ${listed(order.grants)}; a yes allows these calls with what the text says`
  return {
    rule: decision?.rule ?? 'contract',
    answer: {
      ask: {
        origins: argumentOrigins(sink.values),
        reason: asked ? `${asked.reason}; ${reason}` : reason,
        evidence: { ...(isRecord(asked?.evidence) && asked.evidence), ...orderEvidence(order) },
      },
    },
  }
}

/** Returns the question about a call that only a delegated text asks for, outside of what can be agreed to as a whole. */
function unagreed({ implied, call, values }: Sink): Decision | undefined {
  if (implied !== 'delegated') return undefined
  const reason = `only a text that the user asked to follow asks for ${call.tool.name}, and no yes to the whole text covers this call`
  return { rule: 'contract', answer: { ask: { origins: argumentOrigins(values), reason } } }
}

/** Returns grants as a question names them. */
export function listed(grants: readonly Grant[]): string {
  return grants
    .map(({ tool, calls, needs }) => `${tool} (${calls === 'many' ? 'any number' : calls}${needs ? ', in doubt' : ''})`)
    .join(', ')
}
