import type { HookContext, ToolInfo } from '@provost/core'
import { textOf } from '@provost/core'

import type { Implied, TracedValue } from '../provenance/data-flow-rule.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { isDesignated, isTitleSaid } from '../provenance/origin.ts'
import type { Source } from '../provenance/source.ts'
import type { SemanticClasses } from '../wording/semantic-class.ts'
import { delegates, semanticClassesOf } from '../wording/semantic-class.ts'
import { requestImplies, isVerbRequested } from './implied-tool.ts'

/** Returns the names of the tools that the user's words imply. */
export type IntentFunction = (ctx: HookContext) => readonly string[] | Promise<readonly string[]>

/** Returns the result of the intent function for the messages so far. It runs once; later reads come from the log. */
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
 * Returns whether the user's words imply a tool, or a call of it with these values. All messages count equally.
 */
export function impliedByWords(
  tool: ToolInfo,
  ctx: HookContext,
  known: Knowledge,
  values: readonly TracedValue[] = [],
): Implied {
  const messages = ctx.intent
  const verdicts = messages.map((message) => requestImplies(conceptsIn(message, textOf(message)), tool))
  if (verdicts.includes('asked')) return 'asked'
  if (
    messages.some((message) => isVerbRequested(conceptsIn(message, textOf(message)), tool)) &&
    areNamed(values, known)
  )
    return 'asked'
  if (messages.some((message) => delegates(textOf(message))) && delegated(tool, known)) return 'delegated'
  return verdicts.includes('no') ? 'no' : 'unknown'
}

/** Returns whether the user named the title of every record that the call selects. */
function areNamed(values: readonly TracedValue[], known: Knowledge): boolean {
  const things = values.filter(({ role }) => role === 'selector')
  return (
    things.length > 0 &&
    things.every(({ origin }) => origin.kind === 'field' && origin.leaves.some((leaf) => isTitleSaid(leaf, known)))
  )
}

/** Returns whether the user's words mention pages, articles or similar. */
export function isAboutPages(ctx: HookContext): boolean {
  return ctx.intent.some((message) => conceptsIn(message, textOf(message)).objects.has('web'))
}

/** Returns whether a text that the user pointed at and asked to follow implies the tool. */
function delegated(tool: ToolInfo, known: Knowledge): boolean {
  return known.provenance.untrusted.sources.some(
    (source: Source) =>
      isDesignated(source, known) && requestImplies(conceptsIn(source, source.text), tool) === 'asked',
  )
}
