import type { Entry, Json, Label, Steps, ToolOutput } from '@provost/core'
import { finish } from '@provost/core'

import { longText } from '../text/long-text.ts'
import { distinctWords, holds, looseFormSteps, wordsOf } from '../wording/exact-form.ts'

/** The entry that a source was read from. */
export interface SourcePlace {
  readonly entry: Pick<Entry, 'id' | 'offset' | 'runId' | 'agent'>
  /** What was read: the output of a tool, or a text. */
  readonly content: ToolOutput | string
  /** The call that returned it. */
  readonly callId?: string
  /** It is a message that entered the run: in a child, the words of the agent above. */
  readonly isInput?: true
}

/** A result or a message that the session has read. */
export interface Source {
  /** The name in audit rows and approval requests. */
  readonly name: string
  readonly label: Label
  /** The call that returned it. */
  readonly call?: { readonly toolName: string; readonly input: Json }
  /** Its values, one a line: in exact form if it is trusted, else in loose form. */
  readonly text: string
  /** The input of its call, since a tool that repeats its input vouches for no value. */
  readonly inputText: string
  /** Whole values in exact form that do not repeat the call's argument of the same name: the results of a lookup. */
  readonly wholeValues: ReadonlySet<string>
  /** Those of the call's input that it returned as an address: in a field of such a name, of a record that tells more. */
  readonly addresses?: ReadonlySet<string>
  /** A handoff note of one agent to the next: its content comes from other sources. */
  readonly isNote?: true
  /** Absent for the definition of a tool. */
  readonly place?: SourcePlace
}

/** Sources by the words in them. */
export interface SourceIndex {
  readonly sources: Source[]
  readonly byWord: Map<string, Source[]>
}

/** Words that are indexed between two pauses. */
const wordsTogether = 2_048

/** Adds a source to a shelf. */
export function* shelve(shelf: SourceIndex, source: Source): Steps<void> {
  if (source.text.length <= longText) return shelveNow(shelf, source, wordsOf(source.text))
  const words = [...(yield* distinctWords(yield* looseFormSteps(source.text)))]
  for (let at = 0; at < words.length || at === 0; at += wordsTogether) {
    if (at > 0) yield
    shelveNow(shelf, source, words.slice(at, at + wordsTogether), at === 0)
  }
}

function shelveNow(shelf: SourceIndex, source: Source, words: readonly string[], isFirst = true): void {
  if (isFirst) shelf.sources.push(source)
  for (const word of new Set(words)) {
    const known = shelf.byWord.get(word)
    if (!known) shelf.byWord.set(word, [source])
    else known.push(source)
  }
}

/** Returns the sources that contain a value as a whole, found by its rarest word. */
export function sourcesWith(shelf: SourceIndex, form: string): readonly Source[] {
  return finish(sourcesWithSteps(shelf, form))
}

/** Characters of a value whose words are looked up: any of its words finds all sources with the value. */
const longestClue = 4_096

export function* sourcesWithSteps({ sources, byWord }: SourceIndex, form: string): Steps<readonly Source[]> {
  const clue = form.length > longestClue ? form.slice(0, longestClue).replace(/[\p{L}\p{N}]+$/u, '') : form
  const words = wordsOf(clue)
  // Scripts without spaces have no words to look up.
  let candidates: readonly Source[] = sources
  if (words.length > 0 && !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(clue)) {
    for (const word of words) {
      const having = byWord.get(word) ?? []
      if (having.length < candidates.length) candidates = having
    }
  }
  const holding: Source[] = []
  let looked = 0
  for (const source of candidates) {
    if (holds(source.text, form)) holding.push(source)
    if ((looked += source.text.length) < longText) continue
    looked = 0
    yield
  }
  return holding
}
