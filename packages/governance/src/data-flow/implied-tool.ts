import type { ToolInfo } from '@provost/core'
import { isRecord } from '@provost/core'

import { keyWords } from '../provenance/argument-role.ts'
import { semanticClassesOf } from '../wording/semantic-class.ts'
import type { SemanticClasses } from '../wording/semantic-class.ts'

/** What a tool does, in the lexicon's terms. */
interface Purpose {
  readonly verbs: ReadonlySet<string>
  readonly objects: ReadonlySet<string>
  /** The word for the deed in the name, where few other tools have it. */
  readonly deed?: string
  /** Words of the name that the lexicon does not know. */
  readonly own: readonly string[]
  /** Words that its arguments are called by, and few others. */
  readonly details: readonly string[]
}

const purposes = new WeakMap<ToolInfo, Purpose>()

function purposeOf(tool: ToolInfo): Purpose {
  let purpose = purposes.get(tool)
  if (!purpose) purposes.set(tool, (purpose = readPurpose(tool)))
  return purpose
}

/** The name says what a tool does; its title and then its description are asked where the name says nothing. */
function readPurpose({ name, title = '', description = '', inputSchema }: ToolInfo): Purpose {
  const words = keyWords(name)
  const named = semanticClassesOf(words.join(' '))
  const first = semanticClassesOf(words.slice(0, 1).join(' '))
  // Of `update_scheduled_transaction` the first word says what is done, the others to what.
  let spoken = first.verbs.size > 0 ? first.verbs : named.verbs
  for (const more of [title, sentence(description)]) if (spoken.size === 0) spoken = semanticClassesOf(more).verbs
  const done = new Set(spoken)
  let { objects: things } = named
  if (things.size === 0 && done.size > 0) things = semanticClassesOf(title).objects
  // Money is paid, whatever word the name has for it.
  if (things.has('money') && (done.has('send') || done.has('create') || done.has('schedule'))) {
    done.delete('send')
    done.add('pay')
  }
  const own = words.filter((word) => word.length > 2 && !isKnown(word))
  const [deed = ''] = words
  const telling = first.verbs.size > 0 && !general.has(deed)
  // `Change my street` asks for what changes streets, whatever it is called.
  const details = done.has('change') ? detailsOf(inputSchema) : []
  return { verbs: done, objects: things, own, details, ...(telling && { deed }) }
}

/** Deeds that too many tools do: of these it must be said what they are done to. */
const general: ReadonlySet<string> = new Set(
  'send create add update delete remove get set make change write post edit put read run open show find list store save move email mail message schedule share reserve book rent cancel buy order'.split(
    ' ',
  ),
)

function detailsOf(schema: ToolInfo['inputSchema']): readonly string[] {
  const properties = isRecord(schema) ? schema['properties'] : undefined
  const words = isRecord(properties) ? Object.keys(properties).flatMap(keyWords) : []
  return words.filter((word) => word.length > 3 && !plain.has(word))
}

/** What many tools have arguments for. */
const plain: ReadonlySet<string> = new Set(
  'name names first last date time start begin until amount value price recipient recipients subject title content body text description message status type kind query file path user users email number flag recurring location participants'.split(
    ' ',
  ),
)

/** What a tool does stands at the beginning of its description. */
function sentence(description: string): string {
  return description.split(/[.\n]/u, 1).join('').slice(0, 200)
}

function isKnown(word: string): boolean {
  const { verbs, objects } = semanticClassesOf(word)
  return verbs.size + objects.size > 0
}

/** Ways to say the same: what one asks for, the other does. */
const alike: Readonly<Record<string, readonly string[]>> = {
  send: ['send', 'publish', 'share'],
  publish: ['publish', 'send'],
  create: ['create', 'add', 'schedule', 'book'],
  add: ['add', 'invite', 'create'],
  invite: ['invite', 'add'],
  schedule: ['schedule', 'create', 'pay'],
  share: ['share', 'send', 'publish'],
  book: ['book'],
  pay: ['pay'],
  change: ['change'],
  remove: ['remove'],
  read: ['read'],
  run: ['run'],
}

/**
 * Whether a request implies the use of a tool: it asks for what the tool does, to what the tool does it to. Where the
 * lexicon does not know what the tool does, the words of its name must stand in the request. `unknown` where neither the
 * lexicon knows a word of the request nor the name helps.
 *
 * Depends on the language of the request: see `languages`.
 */
export function impliedBy(request: SemanticClasses, tool: ToolInfo): 'asked' | 'no' | 'unknown' {
  const purpose = purposeOf(tool)
  if (isAskedFor(request, purpose)) return 'asked'
  return request.verbs.size === 0 || purpose.verbs.size === 0 ? 'unknown' : 'no'
}

/** Whether a request asks for what a tool does, to whatever it is done. */
export function isDeedAsked(request: SemanticClasses, tool: ToolInfo): boolean {
  return hasDeed(request, purposeOf(tool).verbs)
}

function hasDeed(request: SemanticClasses, verbs: ReadonlySet<string>): boolean {
  return [...verbs].some((verb) => {
    // `Send them the difference` asks for a payment, `send them a note` does not.
    if (verb === 'pay' && request.verbs.has('send') && request.objects.has('money')) return true
    return (alike[verb] ?? [verb]).some((one) => request.verbs.has(one))
  })
}

function isAskedFor(request: SemanticClasses, { verbs, objects, own, details, deed }: Purpose): boolean {
  if (deed !== undefined && hasWord(request, deed)) return true
  const shared = [...own, ...details].some((word) => hasWord(request, word))
  if (verbs.size === 0) return own.length > 0 && own.every((word) => hasWord(request, word))
  const money = objects.has('money')
  if (!hasDeed(request, verbs)) return false
  if (objects.size === 0) return own.length === 0 || shared || verbs.has('send')
  // To say something is to say it somewhere: where is for the rule about destinations.
  if (!money && (verbs.has('send') || verbs.has('publish') || verbs.has('invite'))) return true
  if (verbs.has('pay') && request.verbs.has('pay')) return true
  const things = [...objects].filter((thing) => thing !== 'person')
  // People are called by their names: of a tool that is for them alone the deed says enough.
  return shared || things.length === 0 || things.some((thing) => request.objects.has(thing))
}

function hasWord({ words }: SemanticClasses, word: string): boolean {
  if (words.has(word)) return true
  // Plurals and the like; not for short words, which begin too many others.
  const stem = word.length > 5 ? word.slice(0, -1) : word
  for (const one of words) if (one.startsWith(stem) && one.length - word.length < 4) return true
  return false
}
