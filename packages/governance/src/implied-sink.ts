import type { HookContext, ToolInfo } from '@provost/core'
import { textOf } from '@provost/core'

import { conceptsOf, delegates } from './concept.ts'
import type { Concepts } from './concept.ts'
import type { Implied } from './data-flow-rule.ts'
import { impliedBy } from './implied-tool.ts'
import { isDesignated } from './origin.ts'
import type { Knowledge } from './origin.ts'
import type { Source } from './provenance.ts'

/** Says which tools the human's words imply: their names. */
export type IntentFunction = (ctx: HookContext) => readonly string[] | Promise<readonly string[]>

/** What the intent function said of the human's words so far: asked once for them, then taken from the log. */
export function settledIntent(intent: IntentFunction, ctx: HookContext): Promise<readonly string[]> {
  return ctx.memo(`intent/${ctx.intent.length}`, async () => [...(await intent(ctx))])
}

const spoken = new WeakMap<object, Concepts>()

function conceptsIn(key: object, text: string): Concepts {
  let concepts = spoken.get(key)
  if (!concepts) spoken.set(key, (concepts = conceptsOf(text)))
  return concepts
}

/** Whether the human's words imply the use of a tool; a later message counts as much as the first. */
export function impliedByWords(tool: ToolInfo, ctx: HookContext, known: Knowledge): Implied {
  const messages = ctx.intent
  const verdicts = messages.map((message) => impliedBy(conceptsIn(message, textOf(message)), tool))
  if (verdicts.includes('asked')) return 'asked'
  if (messages.some((message) => delegates(textOf(message))) && delegated(tool, known)) return 'delegated'
  return verdicts.includes('no') ? 'no' : 'unknown'
}

/** Whether a text that the human pointed at, and said to follow, asks for the tool. */
function delegated(tool: ToolInfo, known: Knowledge): boolean {
  return known.provenance.untrusted.sources.some(
    (source: Source) => isDesignated(source, known) && impliedBy(conceptsIn(source, source.text), tool) === 'asked',
  )
}
