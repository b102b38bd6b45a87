import type { ArgumentOrigin } from '@provost/core'

import type { TracedValue } from '../provenance/data-flow-rule.ts'

/** Arguments, and sources of each, whose origin an approval request shows. */
const mostArguments = 50
const mostSources = 10

/** Returns the origins of a call's arguments, for the human who decides about the call. */
export function argumentOrigins(values: readonly TracedValue[]): readonly ArgumentOrigin[] {
  return values.slice(0, mostArguments).map(({ path, role, origin }) => {
    const sources =
      'sources' in origin ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
    const names = new Set(sources.map(({ name }) => name))
    return { path, role, kind: origin.kind, sources: [...names].slice(0, mostSources) }
  })
}
