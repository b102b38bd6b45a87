import type { HookContext, Json, Message, Part, Steps } from '@provost/core'
import { isPromise, labelOf, textOf } from '@provost/core'

import { evidenceOf } from '../evidence/decision-evidence.ts'
import type { Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { originSteps } from '../provenance/origin.ts'
import { hostOf } from '../wording/address.ts'
import type { LinkTarget } from '../wording/link-target.ts'
import { linkTargets } from '../wording/link-target.ts'
import { mostLinks } from './answer-sink.ts'
import { carriesData, isVouchedFor } from './intent-preset.ts'

/** Stands where a link stood. It leads to nothing. */
const withheld = '#link-withheld-by-a-policy'

/** Returns where the links of an answer lead, if something was read that they could disclose. */
export function judgedLinks(message: Message): readonly LinkTarget[] {
  const { integrity, confidentiality } = labelOf(message)
  if (message.role !== 'assistant' || (integrity === 'trusted' && confidentiality !== 'secret')) return []
  const text = textOf(message)
  // No address is without one of these.
  return /[.:/&]/.test(text) ? linkTargets(text, mostLinks) : []
}

/** A link that the model put together of what it read, with its evidence. */
export interface DisclosingLink {
  readonly address: string
  readonly evidence: { readonly [key: string]: Json }
}

/** Returns the links of an answer that disclose what the model read to the owner of a host. */
export async function disclosingLinks(sink: Sink, ctx: HookContext): Promise<readonly DisclosingLink[]> {
  const found = ctx.inTurns(disclosingSteps(sink))
  return isPromise(found) ? await found : found
}

function* disclosingSteps(sink: Sink): Steps<readonly DisclosingLink[]> {
  const found: DisclosingLink[] = []
  for (const one of sink.values) {
    if (!one.path.startsWith('/links/')) continue
    yield
    if (yield* discloses(sink, one)) found.push({ address: one.value, evidence: evidenceOf(sink, one) })
  }
  return found
}

function* discloses(sink: Sink, one: TracedValue): Steps<boolean> {
  // A script runs with the rights of the page, so it reads all of it.
  if (/^(?:java|vb)script:|^data:[^,]*(?:html|svg|xml|script)/i.test(one.value)) return true
  // An address that was copied whole is its author's, who learns only that the link was opened.
  if (one.origin.kind !== 'nowhere') return false
  const host = hostOf(one.value)
  const isKnown = host !== '' && isVouchedFor(yield* originSteps(host, sink.call.tool, sink.known))
  const { confidentiality } = sink.call.label
  return yield* carriesData(sink, one, { host: !isKnown, keys: !isKnown || confidentiality === 'secret' })
}

/** Returns the content of an answer without these links, or undefined if one of them cannot be taken out. */
export function withoutLinks(
  message: Message,
  targets: readonly LinkTarget[],
  links: readonly DisclosingLink[],
): readonly Part[] | undefined {
  const closed = new Set(links.map(({ address }) => address))
  const raws = targets.flatMap(({ raw, address }) => (closed.has(address) ? [raw] : []))
  // The longest first: an address may begin another one.
  const spans = raws.filter((raw) => raw !== undefined).toSorted((a, b) => b.length - a.length)
  const content = message.content.map((part) => {
    if (part.type !== 'text') return part
    let { text } = part
    for (const span of spans) text = text.replaceAll(span, withheld)
    return { ...part, text }
  })
  const left = linkTargets(textOf({ ...message, content }), mostLinks)
  return left.some(({ address }) => closed.has(address)) ? undefined : content
}
