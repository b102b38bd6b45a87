import type { Entry, Overrides, SessionStore } from '@provost/core'
import { canonicalJson, displayText, isForkMark, overridesIn, textOf, toJson } from '@provost/core'

import type { CompareAnswer } from '../console-answers/insight-answer.ts'
import { shownTo } from './entry-page.ts'
import { shownOverrides } from './session-state.ts'

/** What two sessions have in common, and where they part. */
export type Comparison = Pick<CompareAnswer, 'common' | 'first' | 'overrides'>

/** Compares what two logs say, whatever the ids and times of their entries: messages, decisions, results. */
export async function compareLogs(
  store: SessionStore,
  [a, b]: readonly [a: string, b: string],
  cleared: boolean,
): Promise<Comparison> {
  const [left, right] = [contentsOf(store, a), contentsOf(store, b)]
  const overrides = {
    ...onlyGiven('a', await overridesOf(store, a), cleared),
    ...onlyGiven('b', await overridesOf(store, b), cleared),
  }
  try {
    for (let common = 0; ; common++) {
      const [one, other] = [await left.next(), await right.next()]
      const isSame = one.done ? other.done : !other.done && one.value.key === other.value.key
      if (isSame && !one.done) continue
      return {
        ...{ common, overrides },
        first: { a: one.done ? null : side(one.value, cleared), b: other.done ? null : side(other.value, cleared) },
      }
    }
  } finally {
    await left.return()
    await right.return()
  }
}

function onlyGiven(name: 'a' | 'b', overrides: Overrides | undefined, cleared: boolean): Comparison['overrides'] {
  return overrides ? { [name]: shownOverrides(overrides, cleared) } : {}
}

/** The last mark counts: it is that of the session itself. */
async function overridesOf(store: SessionStore, log: string): Promise<Overrides | undefined> {
  let found: Overrides | undefined
  for await (const entry of store.read(log)) if (isForkMark(entry)) found = overridesIn(entry.data)
  return found
}

interface Content {
  readonly entry: Entry
  readonly key: string
}

/** Yields the entries with content. Ids of calls differ between runs, so only what they say is compared. */
async function* contentsOf(store: SessionStore, log: string): AsyncGenerator<Content, void, undefined> {
  for await (const entry of store.read(log)) {
    const key = keyOf(entry)
    if (key !== undefined) yield { entry, key }
  }
}

function keyOf(entry: Entry): string | undefined {
  if (entry.type === 'message') {
    const { role, content } = entry.message
    const said = content.map((part) => {
      if (part.type === 'tool-call') return { type: part.type, toolName: part.toolName, input: part.input }
      if (part.type === 'tool-result') return { type: part.type, toolName: part.toolName, output: part.output }
      return part.type === 'text' || part.type === 'reasoning' ? { type: part.type, text: part.text } : part
    })
    return canonicalJson(toJson([role, said]))
  }
  if (entry.type !== 'call') return undefined
  if (entry.op === 'settled') return canonicalJson(toJson([entry.outcome, entry.output]))
  // A decision that changes nothing is not content: an approval in one of the sessions does not part them.
  return entry.op === 'decided' && entry.outcome === 'deny'
    ? canonicalJson(toJson([entry.outcome, entry.args]))
    : undefined
}

function side({ entry }: Content, cleared: boolean): { offset: number; text: string } {
  const shown = shownTo(entry, cleared)
  const text = cleared && entry.type === 'message' ? textOf(entry.message) : ''
  return { offset: entry.offset, text: displayText(text === '' ? shown : text, { limit: 4_000, lines: true }) }
}
