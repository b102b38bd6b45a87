import type { ArgumentOrigin } from '@provost/core'

import type { TracedValue } from './data-flow-rule.ts'

/** Arguments, and sources of each, that a question tells the origin of. */
const mostArguments = 50
const mostSources = 10

/** Returns where the arguments of a call come from, for the human who is asked about it. */
export function argumentOrigins(values: readonly TracedValue[]): readonly ArgumentOrigin[] {
  return values.slice(0, mostArguments).map(({ path, role, origin }) => {
    const sources =
      'sources' in origin ? origin.sources : 'leaves' in origin ? origin.leaves.map(({ source }) => source) : []
    const names = new Set(sources.map(({ name }) => name))
    return { path, role, kind: origin.kind, sources: [...names].slice(0, mostSources) }
  })
}
