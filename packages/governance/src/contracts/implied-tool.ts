import type { ToolInfo } from '@provost/core'
import { isRecord } from '@provost/core'

import { keyWords } from '../provenance/argument-role.ts'
import { isForeign } from '../provenance/definition.ts'
import { semanticClassesOf } from '../wording/semantic-class.ts'
import type { SemanticClasses } from '../wording/semantic-class.ts'
import { oncePerTool } from './once-per-tool.ts'

/** The purpose of a tool, in the lexicon's terms. */
interface Purpose {
  readonly verbs: ReadonlySet<string>
  readonly objects: ReadonlySet<string>
  /** The verb in the tool's name, if few other tools share it. */
  readonly distinctiveVerb?: string
  /** Words of the name that the lexicon lacks. */
  readonly own: readonly string[]
  /** Words of argument names that few other tools share. */
  readonly details: readonly string[]
}

/** Reads the purpose from the name. If the name has no verb, the title and then the description supply it. */
const purposeOf = oncePerTool((tool): Purpose => {
  const { name, inputSchema } = tool
  // The server of a remote tool chose these texts, so they imply nothing.
  const { title = '', description = '' } = isForeign(tool) ? {} : tool
  const words = keyWords(name)
  const named = semanticClassesOf(words.join(' '))
  const first = semanticClassesOf(words.slice(0, 1).join(' '))
  // In `update_scheduled_transaction` the first word is the verb, the others are the object.
  let spoken = first.verbs.size > 0 ? first.verbs : named.verbs
  for (const more of [title, sentence(description)]) if (spoken.size === 0) spoken = semanticClassesOf(more).verbs
  const done = new Set(spoken)
  let { objects: things } = named
  if (things.size === 0 && done.size > 0) things = semanticClassesOf(title).objects
  // Sending or creating money is a payment.
  if (things.has('money') && (done.has('send') || done.has('create') || done.has('schedule'))) {
    done.delete('send')
    done.add('pay')
  }
  const own = words.filter((word) => word.length > 2 && !isKnown(word))
  const [distinctiveVerb = ''] = words
  const telling = first.verbs.size > 0 && !general.has(distinctiveVerb)
  // `Change my street` implies a tool with an argument `street`, independent of the tool's name.
  const details = done.has('change') ? detailsOf(inputSchema) : []
  return { verbs: done, objects: things, own, details, ...(telling && { distinctiveVerb }) }
})

/** Verbs that many tools share: the request must also name the object. */
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

/** Argument names that many tools share. */
const plain: ReadonlySet<string> = new Set(
  'name names first last date time start begin until amount value price recipient recipients subject title content body text description message status type kind query file path user users email number flag recurring location participants'.split(
    ' ',
  ),
)

/** Returns the first sentence of a description, which tells what the tool does. */
function sentence(description: string): string {
  return description.split(/[.\n]/u, 1).join('').slice(0, 200)
}

function isKnown(word: string): boolean {
  const { verbs, objects } = semanticClassesOf(word)
  return verbs.size + objects.size > 0
}

/** Synonyms: a request for one of these verbs implies a tool with the key's verb. */
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
 * Returns whether a request implies the use of a tool: it has the tool's verb and object. If the lexicon has no verb for
 * the tool, the request must contain the words of the tool's name. `unknown` if the lexicon has no verb for the tool or
 * for the request.
 *
 * Depends on the language of the request: see `languages`.
 */
export function requestImplies(request: SemanticClasses, tool: ToolInfo): 'asked' | 'no' | 'unknown' {
  const purpose = purposeOf(tool)
  if (isAskedFor(request, purpose)) return 'asked'
  return request.verbs.size === 0 || purpose.verbs.size === 0 ? 'unknown' : 'no'
}

/** Returns whether one verb of a request can imply both tools, such as `send` a message and a post. */
export function shareVerb(tool: ToolInfo, other: ToolInfo): boolean {
  const [verbs, others] = [purposeOf(tool).verbs, purposeOf(other).verbs]
  const implies = (from: ReadonlySet<string>, to: ReadonlySet<string>): boolean =>
    [...from].some((verb) => (alike[verb] ?? [verb]).some((one) => to.has(one)))
  return implies(verbs, others) || implies(others, verbs)
}

/** Returns whether a request has the verb of a tool, with any object. */
export function isVerbRequested(request: SemanticClasses, tool: ToolInfo): boolean {
  return hasVerb(request, purposeOf(tool).verbs)
}

function hasVerb(request: SemanticClasses, verbs: ReadonlySet<string>): boolean {
  return [...verbs].some((verb) => {
    // `Send them the difference` implies a payment, `send them a note` does not.
    if (verb === 'pay' && request.verbs.has('send') && request.objects.has('money')) return true
    return (alike[verb] ?? [verb]).some((one) => request.verbs.has(one))
  })
}

function isAskedFor(request: SemanticClasses, { verbs, objects, own, details, distinctiveVerb }: Purpose): boolean {
  if (distinctiveVerb !== undefined && hasWord(request, distinctiveVerb)) return true
  const shared = [...own, ...details].some((word) => hasWord(request, word))
  if (verbs.size === 0) return own.length > 0 && own.every((word) => hasWord(request, word))
  const money = objects.has('money')
  if (!hasVerb(request, verbs)) return false
  if (objects.size === 0) return own.length === 0 || shared || verbs.has('send')
  // The rule about destinations judges where a message goes.
  if (!money && (verbs.has('send') || verbs.has('publish') || verbs.has('invite'))) return true
  if (verbs.has('pay') && request.verbs.has('pay')) return true
  const things = [...objects].filter((thing) => thing !== 'person')
  // A request refers to people by name, so a tool whose only object is a person needs the verb only.
  return shared || things.length === 0 || things.some((thing) => request.objects.has(thing))
}

function hasWord({ words }: SemanticClasses, word: string): boolean {
  if (words.has(word)) return true
  // Match plurals and similar forms. A short word is the prefix of too many others.
  const stem = word.length > 5 ? word.slice(0, -1) : word
  for (const one of words) if (one.startsWith(stem) && one.length - word.length < 4) return true
  return false
}
