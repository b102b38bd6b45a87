import type { HookContext, ToolInfo } from '@provost/core'
import { textOf } from '@provost/core'

import { isVerbRequested, requestImplies } from '../contracts/implied-tool.ts'
import type { Turn } from '../contracts/turn.ts'
import { meaningOf } from '../contracts/turn.ts'
import type { Implied, TracedValue } from '../provenance/data-flow-rule.ts'
import type { Knowledge } from '../provenance/origin.ts'
import { isDescribed, isDesignated, isTitleSaid } from '../provenance/origin.ts'
import type { Source } from '../provenance/source.ts'
import { exactForm, looseForm } from '../wording/exact-form.ts'
import type { SemanticClasses } from '../wording/semantic-class.ts'
import { delegates, semanticClassesOf } from '../wording/semantic-class.ts'

/** Returns the names of the tools that the user's words imply. */
export type IntentFunction = (ctx: HookContext) => readonly string[] | Promise<readonly string[]>

/** Returns the result of the intent function for the messages so far. It runs once; later reads come from the log. */
export function settledIntent(intent: IntentFunction, ctx: HookContext): Promise<readonly string[]> {
  return ctx.memo(`intent/${ctx.intent.length}`, async () => [...(await intent(ctx))])
}

/** Returns whether the words of the present turn imply a tool, or a call of it with these values. */
export function impliedByWords(
  tool: ToolInfo,
  { messages }: Turn,
  known: Knowledge,
  values: readonly TracedValue[] = [],
): Implied {
  const verdicts = messages.map((message) => requestImplies(meaningOf(message), tool))
  if (verdicts.includes('asked')) return 'asked'
  if (messages.some((message) => isVerbRequested(meaningOf(message), tool)) && areNamed(values, known)) return 'asked'
  if (messages.some((message) => delegates(textOf(message))) && delegated(tool, known)) return 'delegated'
  return verdicts.includes('no') ? 'no' : 'unknown'
}

/** Returns whether the user named the title of every record that the call selects. */
export function areNamed(values: readonly TracedValue[], known: Knowledge): boolean {
  const things = values.filter(({ role }) => role === 'selector')
  return (
    things.length > 0 &&
    things.every(({ origin }) => origin.kind === 'field' && origin.leaves.some((leaf) => isTitleSaid(leaf, known)))
  )
}

/**
 * Returns whether each record that the call selects has a word of the user's, is a result of a search for the user's own
 * words, or is the user's own choice.
 */
export function areDescribed(values: readonly TracedValue[], known: Knowledge): boolean {
  const things = values.filter(({ role }) => role === 'selector')
  return (
    things.length > 0 &&
    things.every(
      ({ origin, value }) =>
        origin.kind === 'own' ||
        origin.kind === 'trusted' ||
        known.provenance.approvedNow.has(exactForm(value)) ||
        (known.provenance.leaves.get(looseForm(value)) ?? []).some(
          (leaf) => isDescribed(leaf, known) || isDesignated(leaf.source, known),
        ),
    )
  )
}

/** Returns whether the user's words mention pages, articles or similar. */
export function isAboutPages({ messages }: Pick<Turn, 'messages'>): boolean {
  return messages.some((message) => meaningOf(message).objects.has('web'))
}

const spoken = new WeakMap<Source, SemanticClasses>()

function meaningOfSource(source: Source): SemanticClasses {
  let meaning = spoken.get(source)
  if (!meaning) spoken.set(source, (meaning = semanticClassesOf(source.text)))
  return meaning
}

/** Returns whether a text that the user pointed at and asked to follow implies the tool. */
export function delegated(tool: ToolInfo, known: Knowledge): boolean {
  return known.provenance.untrusted.sources.some(
    (source: Source) => isDesignated(source, known) && requestImplies(meaningOfSource(source), tool) === 'asked',
  )
}
