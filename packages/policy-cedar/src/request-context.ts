import type { Sink } from '@provost/governance'

import type { CedarValue } from './argument-type.ts'

/** Returns what policies read of any call: labels, origins, destinations and the contract. */
export function sharedContext({ call, values, implied, contract }: Sink): Record<string, CedarValue> {
  const { integrity, confidentiality, sources } = call.label
  const destinations = values.filter(({ role }) => role === 'destination').map(({ value }) => value)
  const granted = contract?.contract.grants.filter(({ tool }) => tool === call.tool.name) ?? []
  return {
    label: { untrusted: integrity === 'untrusted', secret: confidentiality === 'secret', sources: [...sources] },
    origins: [...new Set(values.map(({ role, origin }) => `${role}:${origin.kind}`))],
    destinations: [...new Set(destinations)],
    domains: [...new Set(destinations.map(domainOf))],
    amount: largestAmount(values),
    implied,
    ...(contract && {
      contract: {
        granted: granted.length > 0,
        callsLeft: callsLeft(granted, contract.used),
        doubtful: granted.some(({ needs }) => needs !== undefined) && !contract.confirmed,
      },
    }),
  }
}

/** Calls that a contract without a limit leaves. */
const unlimited = 1_000_000

function callsLeft(grants: readonly { readonly calls: number | 'many' }[], used: number): number {
  if (grants.some(({ calls }) => calls === 'many')) return unlimited
  const allowed = grants.reduce((sum, { calls }) => sum + (calls === 'many' ? 0 : calls), 0)
  return Math.max(0, allowed - used)
}

/** Returns the largest amount, rounded up. A text that is no number gives NaN, and the call is denied. */
function largestAmount(values: Sink['values']): number {
  const amounts = values.filter(({ role }) => role === 'amount').map(({ value }) => Math.ceil(Math.abs(Number(value))))
  return amounts.reduce((most, one) => (one <= most ? most : one), 0)
}

/** Returns the domain of a mail address or a web address in lower case; empty for anything else, so that no list has it. */
export function domainOf(destination: string): string {
  const text = destination.trim().toLowerCase()
  const mail = /^[^\s@<>"(),;:]+@([a-z0-9.-]{1,253})$/.exec(text)
  if (mail) return mail[1] ?? ''
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return ''
  return new URL(text).hostname
}
