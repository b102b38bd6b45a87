import type { ToolInfo } from '@provost/core'

import type { Contract, ContractView, Grant } from '../provenance/contract.ts'
import type { Implied, TracedValue } from '../provenance/data-flow-rule.ts'
import { isOfReachedRecord } from '../provenance/lookup.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { areDescribed, areNamed, delegated } from './intent-match.ts'
import { isIssuedItem } from './issued-value.ts'

/** Returns whether a contract asks for a call of a tool with these values. */
export function impliedByContract(
  tool: ToolInfo,
  { contract, confirmed, isServed }: ContractView,
  known: Knowledge,
  values: readonly TracedValue[],
): Implied {
  const { grants, forbidden, delegates, understood } = contract
  if (forbidden.some((one) => one.tool === tool.name && one.values.length === 0)) return 'no'
  const own = grants.filter((grant) => grant.tool === tool.name)
  if (confirmed && own.length > 0) return 'asked'
  if (!isServed && own.some((grant) => isFulfilled(tool, grant, contract, known, values))) return 'asked'
  if (delegates && delegated(tool, known)) return 'delegated'
  // A grant whose condition is not fulfilled is a doubt, which a human can settle.
  return isServed || own.some(({ needs }) => needs === 'own-values') || !understood ? 'unknown' : 'no'
}

function isFulfilled(
  tool: ToolInfo,
  { needs }: Grant,
  { amounts }: Contract,
  known: Knowledge,
  values: readonly TracedValue[],
): boolean {
  if (needs === 'named-record') return areNamed(values, known)
  if (needs === 'described-record') return areDescribed(values, known)
  if (needs === 'own-values') {
    const isOurs = (one: TracedValue): boolean =>
      one.origin.kind === 'own' ||
      one.origin.kind === 'trusted' ||
      (one.role === 'amount' && amounts.includes(Number(one.value))) ||
      (one.role === 'selector' && (isOfReachedRecord(tool, one, known) || isIssuedItem(tool, one, known)))
    return values.filter(({ role }) => judged.has(role)).every(isOurs) || areNamed(values, known)
  }
  return true
}

const judged: ReadonlySet<string> = new Set(['destination', 'selector', 'credential', 'attachment', 'amount'])
