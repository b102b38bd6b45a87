import type { HookContext, ToolInfo } from '@provost/core'
import { textOf } from '@provost/core'

import type { Implied, TracedValue } from '../provenance/data-flow-rule.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { isDesignated, isTitleSaid } from '../provenance/origin.ts'
import type { Source } from '../provenance/source.ts'
import type { SemanticClasses } from '../wording/semantic-class.ts'
import { delegates, semanticClassesOf } from '../wording/semantic-class.ts'
import { impliedBy, isDeedAsked } from './implied-tool.ts'

/** Says which tools the human's words imply: their names. */
export type IntentFunction = (ctx: HookContext) => readonly string[] | Promise<readonly string[]>

/** What the intent function said of the human's words so far: asked once for them, then taken from the log. */
export function settledIntent(intent: IntentFunction, ctx: HookContext): Promise<readonly string[]> {
  return ctx.memo(`intent/${ctx.intent.length}`, async () => [...(await intent(ctx))])
}

const spoken = new WeakMap<object, SemanticClasses>()

function conceptsIn(key: object, text: string): SemanticClasses {
  let concepts = spoken.get(key)
  if (!concepts) spoken.set(key, (concepts = semanticClassesOf(text)))
  return concepts
}

/**
 * Whether the human's words imply the use of a tool, or of a call of it with these values; a later message counts as much as the first.
 */
export function impliedByWords(
  tool: ToolInfo,
  ctx: HookContext,
  known: Knowledge,
  values: readonly TracedValue[] = [],
): Implied {
  const messages = ctx.intent
  const verdicts = messages.map((message) => impliedBy(conceptsIn(message, textOf(message)), tool))
  if (verdicts.includes('asked')) return 'asked'
  if (messages.some((message) => isDeedAsked(conceptsIn(message, textOf(message)), tool)) && areNamed(values, known))
    return 'asked'
  if (messages.some((message) => delegates(textOf(message))) && delegated(tool, known)) return 'delegated'
  return verdicts.includes('no') ? 'no' : 'unknown'
}

/** Things are called by their titles: whether all that the call is about are records of which the human gave one. */
function areNamed(values: readonly TracedValue[], known: Knowledge): boolean {
  const things = values.filter(({ role }) => role === 'selector')
  return (
    things.length > 0 &&
    things.every(({ origin }) => origin.kind === 'field' && origin.leaves.some((leaf) => isTitleSaid(leaf, known)))
  )
}

/** Whether the human speaks of pages, articles and the like. */
export function isAboutPages(ctx: HookContext): boolean {
  return ctx.intent.some((message) => conceptsIn(message, textOf(message)).objects.has('web'))
}

/** Whether a text that the human pointed at, and said to follow, asks for the tool. */
function delegated(tool: ToolInfo, known: Knowledge): boolean {
  return known.provenance.untrusted.sources.some(
    (source: Source) => isDesignated(source, known) && impliedBy(conceptsIn(source, source.text), tool) === 'asked',
  )
}
