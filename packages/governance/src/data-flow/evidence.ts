import type { Json } from '@provost/core'

import type { Grant } from '../provenance/contract.ts'
import type { Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import type { Origin } from '../provenance/origin.ts'

/** Returns the origin of a value as evidence for a human: names, places, and no text beyond the value. */
export function evidenceOf(sink: Sink, one: TracedValue): { readonly [key: string]: Json } {
  const { origin, path, role } = one
  const hit = sink.hits.find((each) => each.path === path)
  return {
    tool: sink.call.tool.name,
    argument: path,
    role,
    ...shown(one),
    origin: origin.kind,
    from: placesOf(origin),
    ...(hit && { span: { source: hit.source, start: hit.span[0], end: hit.span[1], view: hit.view } }),
  }
}

/** Returns the beginning of a value, unless it is from a secret source. */
export function shown({ origin, value }: TracedValue): { readonly value?: string } {
  return isSecret(origin) ? {} : { value: brief(value) }
}

/** Whether a value is from a source that is labelled secret: evidence is read by more people than the source. */
function isSecret(origin: Origin): boolean {
  const sources =
    'leaves' in origin ? origin.leaves.map(({ source }) => source) : 'sources' in origin ? origin.sources : []
  return sources.some(({ label }) => label.confidentiality === 'secret')
}

function placesOf(origin: Origin): Json {
  if ('leaves' in origin) {
    return origin.leaves
      .slice(0, 4)
      .map(({ source, pointer }) => ({ source: source.name, labelled: [...source.label.sources], place: pointer }))
  }
  if (origin.kind !== 'prose') return []
  return origin.sources.slice(0, 4).map((source) => ({ source: source.name, labelled: [...source.label.sources] }))
}

/** Returns the beginning of a value, for questions and evidence. */
export function brief(value: string): string {
  return value.length > 80 ? `${value.slice(0, 79)}…` : value
}

/** Returns the grants of the called tool. */
export function grantsOf({ contract, call }: Pick<Sink, 'contract' | 'call'>): readonly Grant[] {
  return contract?.contract.grants.filter(({ tool }) => tool === call.tool.name) ?? []
}

/** Returns what a human compares: the call, the clause that comes nearest, and what differs. */
export function differenceOf(
  sink: Sink,
  { clause, differs }: { readonly clause?: string | undefined; readonly differs: string },
): { readonly [key: string]: Json } {
  const nearest = clause ?? grantsOf(sink)[0]?.because
  return {
    contract: { tool: sink.call.tool.name, differs, ...(nearest !== undefined && { clause: brief(nearest) }) },
  }
}
