import type { Message, ToolInfo } from '@provost/core'
import { textOf } from '@provost/core'

import { keyWords } from '../provenance/argument-role.ts'
import type { Contract, Grant, Prohibition } from '../provenance/contract.ts'
import { isForeign } from '../provenance/definition.ts'
import { exactForm } from '../wording/exact-form.ts'
import { delegates, mentionsMoney, semanticClassesOf } from '../wording/semantic-class.ts'
import type { Clause } from './clause.ts'
import { clausesOf, valuesIn } from './clause.ts'
import { computation, deeds, delegation, lemmaOf, quantifier, relation, things } from './english.ts'
import { isVerbRequested, requestImplies, shareVerb } from './implied-tool.ts'
import { oncePerTool } from './once-per-tool.ts'

/**
 * Returns the contract of a turn by its words, without a model: the same turn and tools give the same contract.
 *
 * English clauses are read strictly: a clause grants the tools that fit its verb and its object best. What only the
 * lexicon finds is granted under a condition, see {@link Grant.needs}. So is what the agent proposed in an answer that the
 * human agreed to.
 *
 * @param confirmed the visible text of these answers.
 */
export function deriveByWords(
  turn: readonly Message[],
  tools: readonly ToolInfo[],
  confirmed: readonly string[] = [],
): Contract {
  return deriveFromText(turn.map(textOf).join('\n'), tools, confirmed)
}

/** Returns the contract that the words of a text give, as {@link deriveByWords} does. */
export function deriveFromText(text: string, tools: readonly ToolInfo[], confirmed: readonly string[] = []): Contract {
  const clauses = clausesOf(text).map(readClause)
  const asked = clauses.filter(({ negated }) => !negated)
  const sinks = tools.filter(({ effect }) => effect === 'write' || effect === 'egress')
  const isDelegating = delegation.test(text) || delegates(text)
  const isEnglish = clauses.some((clause) => clause.deeds.size > 0)
  const classes = semanticClassesOf(asked.map(({ said }) => said).join('\n'))

  const fits = fitting(asked, sinks)
  const granted = new Map<string, Grant>()
  for (const { tool, calls, clause, isOpen: open } of fits) {
    const before = granted.get(tool.name)
    const needs = open && (!before || before.needs) ? { needs: 'described-record' as const } : {}
    const earlier = before?.calls ?? 0
    granted.set(tool.name, {
      tool: tool.name,
      calls: calls === 'many' || earlier === 'many' || isDelegating ? 'many' : calls + earlier,
      ...needs,
      args: {},
      because: before ? `${before.because} … ${clause.said}` : clause.said,
    })
  }
  // One deed is asked for once: a clause that is read strictly leaves the others to the lexicon.
  const strict = new Set(fits.map(({ clause }) => clause))
  const rest = semanticClassesOf(asked.flatMap((clause) => (strict.has(clause) ? [] : [clause.said])).join('\n'))
  const left = { ...rest, objects: classes.objects }
  const plain = fits.map(({ tool }) => tool).filter((tool) => !purposeOf(tool).deeds.has('fetch'))
  const rivalsOf = (tool: ToolInfo): readonly ToolInfo[] => {
    if (!isEnglish) return sinks.filter((one) => requestImplies(classes, one) === 'asked' && shareVerb(one, tool))
    return requestImplies(left, tool) === 'asked' || isVerbRequested(left, tool) ? [] : plain
  }
  for (const tool of sinks) {
    if (granted.has(tool.name)) continue
    const yieldsTo = [...new Set(rivalsOf(tool).map(({ name }) => name))].filter((name) => name !== tool.name)
    const base = {
      ...{ tool: tool.name, calls: 'many' as const, args: {}, because: text.slice(0, 300) },
      ...(yieldsTo.length > 0 && { yieldsTo }),
    }
    // The lexicon knows further languages, where no clause is read strictly.
    if (requestImplies(classes, tool) === 'asked')
      granted.set(tool.name, isEnglish ? { ...base, needs: 'own-values' } : base)
    else if (isVerbRequested(classes, tool)) granted.set(tool.name, { ...base, needs: 'named-record' })
  }
  for (const { tool, clause } of fitting(confirmed.flatMap(proposalsIn).map(readClause), sinks))
    if (!granted.has(tool.name) && !clause.negated)
      granted.set(tool.name, { tool: tool.name, calls: 'many', needs: 'own-values', args: {}, because: clause.said })
  return {
    version: 1,
    deriver: 'words',
    grants: [...granted.values()],
    forbidden: clauses.filter(({ negated }) => negated).flatMap((clause) => prohibitions(clause, sinks, granted)),
    amounts: numbersIn(text),
    computes: computation.test(text) || isDelegating || !isEnglish,
    relations: relation.test(text),
    delegates: isDelegating,
    understood: classes.verbs.size > 0,
  }
}

/** Returns the clauses of the questions in an answer. */
function proposalsIn(answer: string): readonly Clause[] {
  return (answer.match(/[^.!?？؟\n]{1,1000}[?？؟]/gu) ?? []).flatMap(clausesOf)
}

/** A clause with the meanings of its words. */
interface ReadClause extends Clause {
  readonly deeds: ReadonlySet<string>
  readonly things: ReadonlySet<string>
  readonly words: ReadonlySet<string>
  /** Words that can be verbs, in lower case. */
  readonly verbs: readonly string[]
}

/** Words before a noun. A word behind one of them is no verb: `her e-mail`, `the post`. */
const beforeNoun = new Set(
  'the a an my your his her its our their of in from with for by on at this that which direct total new'.split(' '),
)

/** Words directly before a noun: `all order invoices`, but `to each user write`. */
const besideNoun = new Set([...beforeNoun, ...'all every each any same last previous recent pending'.split(' ')])

/** Verbs that leave the deed to their object, and the words between the two. */
const lightVerbs = new Set('make do request issue place initiate'.split(' '))
const articles = new Set(['a', 'an', 'the'])

function readClause(clause: Clause): ReadClause {
  const written = clause.text.match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu) ?? []
  const words = written.map(lemmaOf)
  const isVerb = (_: string, index: number): boolean => {
    const before = written[index - 1]?.toLowerCase() ?? ''
    const second = written[index - 2]?.toLowerCase() ?? ''
    // `Instead of renting`: a gerund is a verb.
    if (before === 'of' && written[index]?.endsWith('ing') === true) return true
    // `Request a refund` asks for what `refund it` asks for.
    if (articles.has(before) && lightVerbs.has(second)) return true
    return !besideNoun.has(before) && !(beforeNoun.has(second) && deeds.get(words[index - 1] ?? '') === undefined)
  }
  const verbs = words.filter(isVerb)
  const found = new Set(words.flatMap((word) => things.get(word) ?? []))
  if (/https?:\/\/|www\./iu.test(clause.said)) found.add('web')
  if (mentionsMoney(clause.said) || verbs.some((word) => deeds.get(word)?.includes('pay'))) found.add('money')
  return {
    ...clause,
    deeds: new Set(verbs.flatMap((word) => deeds.get(word) ?? [])),
    things: found,
    words: new Set(words),
    verbs: written.filter(isVerb).map((word) => word.toLowerCase()),
  }
}

/** What a tool does, in the terms of the English tables. */
interface Purpose {
  readonly deeds: ReadonlySet<string>
  readonly things: ReadonlySet<string>
  /** Its name has one of these objects. Otherwise they come from its description, which may mention others, too. */
  readonly isNamed: boolean
  /** The first word of its name. */
  readonly verb: string
  /** That word, if the tables lack it: then a request for the tool has the word itself. */
  readonly ownVerb?: string
  /** Words of its name that the tables lack. */
  readonly own: readonly string[]
}

const purposeOf = oncePerTool((tool): Purpose => {
  const name = keyWords(tool.name).map(lemmaOf)
  const [verb = '', ...rest] = name
  // The server of a remote tool chose its description.
  const sentence = isForeign(tool) ? '' : (tool.description ?? '').split(/[.\n]/u, 1).join('').slice(0, 200)
  const described = (sentence.match(/[\p{L}\p{N}-]+/gu) ?? []).map(lemmaOf)
  // In `cart_add` the second word is the verb.
  const does = new Set(
    deeds.get(verb) ?? deeds.get(rest[0] ?? '') ?? described.slice(0, 3).flatMap((word) => deeds.get(word) ?? []),
  )
  const named = rest.flatMap((word) => things.get(word) ?? [])
  const to = new Set(named.length > 0 ? named : described.flatMap((word) => things.get(word) ?? []))
  const isPayment = to.has('money') && (does.has('send') || does.has('create'))
  if (does.has('send') && to.has('channel')) does.add('publish')
  // What is put into a cart is bought.
  if (does.has('add') && name.includes('cart')) does.add('book')
  const own = name.filter((word) => word.length > 3 && !deeds.has(word) && !things.has(word))
  const isOwnVerb = verb.length > 3 && !deeds.has(verb) && !things.has(verb)
  return {
    deeds: isPayment ? new Set(['pay']) : does,
    things: to,
    isNamed: named.length > 0,
    verb,
    own,
    ...(isOwnVerb && { ownVerb: verb }),
  }
})

/** Returns whether a word is a form of a verb: `returning` of `return`. */
function isFormOf(word: string, verb: string): boolean {
  if (word === verb) return true
  const stem = verb.endsWith('e') ? verb.slice(0, -1) : verb
  return word.startsWith(stem) && /^(?:e?s|e?d|ing)$/.test(word.slice(stem.length))
}

/** Verbs that many tools share, and that requests replace by others. */
const general = new Set(['send', 'get', 'make', 'do', 'set', 'put', 'create', 'add', 'update'])
/** Deeds that need no object: the receiver is enough. */
const towards: readonly string[] = ['send', 'publish', 'invite', 'share']
/** Deeds of one kind of tool. */
const particular: readonly string[] = ['exchange']
/** Deeds with any object: what is bought seldom is in the tables. */
const openDeeds: readonly string[] = ['book']
const places: readonly string[] = ['channel', 'web', 'group']
/** A fit at or above this has the verb of the tool, and its object or no need of one. */
const directFit = 2

/**
 * Returns how well a clause asks for a tool; 0 is not at all.
 *
 * @param near the objects of the whole turn, for pronouns.
 */
function fitOf(clause: ReadClause, near: ReadonlySet<string>, purpose: Purpose): number {
  const paysMoney = purpose.deeds.has('pay') && clause.deeds.has('send') && clause.things.has('money')
  const { ownVerb } = purpose
  if (ownVerb !== undefined && clause.verbs.some((word) => isFormOf(word, ownVerb))) return directFit
  if (!paysMoney && ![...purpose.deeds].some((deed) => clause.deeds.has(deed))) return 0
  const objects = [...purpose.things].filter((thing) => clause.things.has(thing))
  const named = purpose.own.filter((word) => clause.words.has(word))
  const verb = clause.words.has(purpose.verb) ? 0.5 : general.has(purpose.verb) ? 0 : -1
  // A tool that writes to a place fits less if the clause does not name such a place.
  const place = places.find((one) => purpose.things.has(one))
  const unnamed = place === undefined || clause.things.has(place) ? 0 : near.has(place) ? -0.5 : -1.5
  const direct = objects.length + named.length
  if (direct > 0) return Math.max(0, directFit + direct + verb + unnamed)
  const needsNoObject =
    purpose.things.size === 0 ||
    towards.some((deed) => purpose.deeds.has(deed)) ||
    particular.some((deed) => purpose.deeds.has(deed) && clause.deeds.has(deed)) ||
    isOpen(clause, purpose)
  if (needsNoObject) return Math.max(0, directFit + verb + unnamed)
  return [...purpose.things].some((thing) => near.has(thing)) ? Math.max(0, 1.5 + verb) : 0
}

/** Returns whether only the deed shows that a clause asks for a tool. */
function isOpen(clause: ReadClause, purpose: Purpose): boolean {
  return (
    !purpose.isNamed &&
    !purpose.own.some((word) => clause.words.has(word)) &&
    openDeeds.some((deed) => purpose.deeds.has(deed) && clause.deeds.has(deed))
  )
}

interface Fit {
  readonly tool: ToolInfo
  readonly isOpen: boolean
  readonly calls: number | 'many'
  readonly clause: ReadClause
}

/** Returns the tools that fit each clause best: a tool yields to another with the same deed that fits much better. */
function fitting(clauses: readonly ReadClause[], sinks: readonly ToolInfo[]): readonly Fit[] {
  const near = new Set(clauses.flatMap((clause) => [...clause.things]))
  const found: Fit[] = []
  for (const [index, clause] of clauses.entries()) {
    const fits = sinks
      .map((tool) => ({ tool, purpose: purposeOf(tool), fit: fitOf(clause, near, purposeOf(tool)) }))
      .filter(({ fit }) => fit > 0)
    for (const { tool, purpose, fit } of fits) {
      const isBeaten = fits.some(
        (other) => other.fit >= fit + 1 && [...other.purpose.deeds].some((deed) => purpose.deeds.has(deed)),
      )
      if (!isBeaten)
        found.push({ tool, clause, isOpen: isOpen(clause, purpose), calls: callsIn(clause, clauses.slice(index + 1)) })
    }
    for (const tool of sinks) {
      // A tool that only reads an address is judged by the address.
      if (purposeOf(tool).deeds.has('fetch') && (clause.deeds.has('fetch') || clause.things.has('web')))
        found.push({ tool, clause, isOpen: false, calls: 'many' })
    }
  }
  return found
}

/** Returns how many calls a clause asks for: one, one more for each further value, or many for a plural. */
function callsIn(clause: ReadClause, following: readonly ReadClause[]): number | 'many' {
  if (quantifier.test(clause.text) || relation.test(clause.text) || hasPlural(clause)) return 'many'
  let calls = 1
  for (const next of following) {
    // `Mail Ann and Bob` has its second name in a clause without a verb.
    if (next.deeds.size > 0) break
    calls += valuesIn(next).length
  }
  return calls
}

/** People, as objects of calls. */
const people = new Set(
  'person people user member participant attendee colleague friend customer guest contact'.split(' '),
)

/** Returns whether a clause has a plural of an object: then the number of calls is open. */
function hasPlural({ text }: Clause): boolean {
  return (text.match(/\p{L}+s(?!\p{L})|people/giu) ?? []).some((word) => {
    const lemma = lemmaOf(word)
    return people.has(word.toLowerCase().replace(/s$/u, '')) || (lemma !== word.toLowerCase() && things.has(lemma))
  })
}

function prohibitions(
  clause: ReadClause,
  sinks: readonly ToolInfo[],
  granted: ReadonlyMap<string, Grant>,
): readonly Prohibition[] {
  const classes = semanticClassesOf(clause.said)
  const isEnglish = clause.deeds.size > 0
  return sinks
    .filter((tool) => {
      const purpose = purposeOf(tool)
      if (fitOf(clause, clause.things, purpose) > 0) return true
      return !isEnglish && requestImplies(classes, tool) === 'asked'
    })
    .map((tool) => {
      const values = granted.has(tool.name) && !granted.get(tool.name)?.needs ? valuesIn(clause).map(exactForm) : []
      return { tool: tool.name, values, because: clause.said }
    })
}

const numerals =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  )

/** Returns the numbers of a text, also those that are written as words. */
function numbersIn(text: string): readonly number[] {
  const found = new Set<number>()
  for (const [digits] of text.matchAll(/(?<![\p{L}\p{N}.])\d{1,15}(?:[.,]\d{1,15})*(?![\p{L}\p{N}])/gu)) {
    const plain = Number(digits.replace(/,(?=\d{3}(?:\D|$))/gu, '').replace(',', '.'))
    if (Number.isFinite(plain)) found.add(plain)
    // `1.200` is a thousand in some languages.
    const grouped = Number(digits.replaceAll('.', '').replace(',', '.'))
    if (/\.\d{3}(?:\D|$)/u.test(digits) && Number.isFinite(grouped)) found.add(grouped)
  }
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const number = numerals.indexOf(word)
    if (number >= 0) found.add(number)
  }
  return [...found].slice(0, 256)
}
