import { isIP } from 'node:net'

import type { ArgRole, Json, JsonPointer, RoleValue, ToolInfo } from '@provost/core'
import { escapePointer, isRecord, ProvostError } from '@provost/core'

import { isUrl } from '../wording/address.ts'
import { isForeign } from './definition.ts'

/** Roles by the words of an argument's name. The first matching row applies. */
const byName: readonly (readonly [ArgRole, ReadonlySet<string>])[] = [
  [
    'credential',
    words('password passwd passphrase secret token apikey credential credentials pin otp auth authorization'),
  ],
  ['attachment', words('attachment attachments payload upload')],
  [
    'destination',
    words(
      'to cc bcc payto sendto recipient recipients receiver destination dest target email emails mail address addressee iban account bic url uri href link endpoint webhook host hostname domain server channel channels room phone number participants participant attendees attendee invitee invitees payee beneficiary user users username member members owner assignee group team audience forward redirect callback command cmd script code shell sql statement',
    ),
  ],
  [
    'selector',
    words(
      'id ids uid uuid key path file filename filepath dir directory folder name slug ref reference sha branch table query selector index row event order ticket issue record resource',
    ),
  ],
  ['amount', words('amount price total sum quantity qty cost value')],
  ['time', words('date time datetime day start end begin due deadline at when until since timestamp')],
  [
    'flag',
    words(
      'priority enabled disabled force recursive visibility public private mode overwrite urgent confirm confirmed',
    ),
  ],
]

/** Returns the role that the words of a name suggest. */
export function roleOfName(name: string): ArgRole | undefined {
  const named = keyWords(name)
  return byName.find(([, known]) => named.some((word) => known.has(word)))?.[0]
}

/** Returns whether the words of an argument's name are those of a secret. */
export function isSecretName(name: string): boolean {
  const [[, secret] = []] = byName
  return keyWords(name).some((word) => secret?.has(word))
}

const byFormat: Readonly<Record<string, ArgRole>> = {
  email: 'destination',
  'idn-email': 'destination',
  uri: 'destination',
  'uri-reference': 'destination',
  iri: 'destination',
  url: 'destination',
  hostname: 'destination',
  'idn-hostname': 'destination',
  ipv4: 'destination',
  ipv6: 'destination',
  uuid: 'selector',
  date: 'time',
  'date-time': 'time',
  time: 'time',
  duration: 'time',
}

/** A value with the role of its argument. */
export interface ArgumentValue extends RoleValue {
  /** Only the form of the value suggests the role: neither the tool nor the name of the argument does. */
  readonly guessed?: true
}

/** Values per call at most: a call with more is rejected. */
export const mostValues = 10_000

/**
 * Returns the values of a call, each with the role of its argument. A role that the tool declares comes first, then the
 * role that name and format suggest. Where these say nothing, an address is a destination, a key or
 * a few words are a selector, and the rest is content.
 *
 * @throws ProvostError `too-many-arguments` for a call with more than 10,000 values.
 */
export function roleValuesOf(call: { readonly input: Json; readonly tool: ToolInfo }): readonly ArgumentValue[] {
  const rows: ArgumentValue[] = []
  const declared = Object.entries(call.tool.roles).map(([pointer, role]) => ({ steps: pointer.split('/'), role }))
  walk(call.input, { steps: [''], role: undefined }, call.tool.inputSchema, (place, value, schema) => {
    const { steps } = place
    if (rows.length >= mostValues) {
      throw new ProvostError('too-many-arguments', `A call to ${call.tool.name} has more than ${mostValues} values.`, {
        hint: 'Pass large data by reference.',
      })
    }
    const own = declared
      .filter((one) => covers(one.steps, steps))
      .toSorted((a, b) => b.steps.length - a.steps.length)[0]
    const path: JsonPointer = `/${steps.slice(1).join('/')}`
    const role = own?.role ?? suggested(place, schema, value, isForeign(call.tool))
    const guessed = !own && role === 'selector' && !place.role && isFewWords(value) && !isKey(value)
    rows.push({ path, role, value, ...(guessed && { guessed }) })
    // A text without a declared role may hold arguments in JSON or as a form.
    return own ? undefined : fieldsIn(value)
  })
  return rows
}

/** Returns the values of yes or no in a call's input, with their places. */
export function switchesIn(input: Json): readonly (readonly [pointer: string, boolean])[] {
  const found: [string, boolean][] = []
  const look = (value: Json, pointer: string, depth: number): void => {
    if (typeof value === 'boolean') found.push([pointer, value])
    if (typeof value !== 'object' || value === null || depth >= deepestPointer) return
    for (const [key, item] of Object.entries(value)) look(item ?? null, `${pointer}/${escapePointer(key)}`, depth + 1)
  }
  look(input, '', 0)
  return found
}

/** Parses a text that is JSON or a form; undefined for any other text. */
function fieldsIn(text: string): unknown {
  if (text.length > longestFields) return undefined
  if (/^\s*[[{]/.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  }
  if (!/^[\w.[\]%+-]{1,64}=[^\s&=]+(?:&[\w.[\]%+-]{1,64}=[^\s&=]*)*$/.test(text)) return undefined
  return Object.fromEntries(new URLSearchParams(text))
}

/** Characters of the longest text that is parsed. */
const longestFields = 1_000_000
/** Levels of objects nested as texts. */
const deepestFields = 8

/** The position of a value, and the role that the names above it suggest. */
interface Place {
  readonly steps: readonly string[]
  readonly role: ArgRole | undefined
}

/** @returns the parsed parts of the value, if these are visited too. */
type Visit = (place: Place, value: string, schema: unknown) => unknown

/** Steps of the longest pointer. Deeper values share the pointer of their ancestor, since tools declare no roles there. */
const deepestPointer = 64

function below({ steps, role }: Place, key: string): Place {
  return { steps: steps.length > deepestPointer ? steps : [...steps, key], role: roleBelow(role, key) }
}

function walk(value: unknown, place: Place, schema: unknown, visit: Visit, depth: number = 0): void {
  if (typeof value === 'string' || typeof value === 'number') {
    const made = visit(place, String(value), schema)
    if (made !== undefined && depth < deepestFields) walk(made, place, undefined, visit, depth + 1)
  } else if (Array.isArray(value)) {
    const items = isRecord(schema) ? schema['items'] : undefined
    for (const [index, item] of value.entries()) walk(item, below(place, String(index)), items, visit, depth)
  } else if (isRecord(value)) {
    const properties = isRecord(schema) ? schema['properties'] : undefined
    for (const [key, item] of Object.entries(value)) {
      walk(item, below(place, escapePointer(key)), isRecord(properties) ? properties[key] : undefined, visit, depth)
    }
  }
}

/** Returns whether a pointer leads to a place or to an ancestor of it; `*` matches any one step. */
export function covers(pointer: readonly string[], place: readonly string[]): boolean {
  return pointer.length <= place.length && pointer.every((step, index) => step === '*' || step === place[index])
}

/** @param foreign the schema comes from a remote server: it can raise the rank of a role, and never lower it. */
function suggested(place: Place, schema: unknown, value: string, foreign: boolean): ArgRole {
  const { role } = place
  const name = place.steps.findLast((step) => !/^\d+$/.test(step)) ?? ''
  const format = isRecord(schema) ? schema['format'] : undefined
  const formal = typeof format === 'string' && Object.hasOwn(byFormat, format) ? byFormat[format] : undefined
  if (foreign) {
    const named = role ?? byForm(value, name)
    if (rank(named) < 2 && isAddress(value)) return 'destination'
    return formal && rank(formal) > rank(named) ? formal : named
  }
  if (formal) return formal
  if (isRecord(schema) && (Array.isArray(schema['enum']) || schema['const'] !== undefined)) return 'flag'
  // Without a name to go by, a value that is only an address is a destination.
  return role ?? byForm(value, name)
}

/** Names of arguments that hold text for people. */
const texts: ReadonlySet<string> = words(
  'text body message content title subject description note notes comment summary reason label caption details name html markdown location place venue topic',
)

/**
 * Returns the role of a value whose argument has a name that says nothing. A key or a few words can choose what the call
 * does, so they count as a selector.
 */
function byForm(value: string, name: string): ArgRole {
  if (isAddress(value)) return 'destination'
  if (keyWords(name).some((word) => texts.has(word))) return 'content'
  return isKey(value) || isFewWords(value) ? 'selector' : 'content'
}

/** Returns whether a value is a name or an option rather than a text: a few words on one line. */
function isFewWords(value: string): boolean {
  return value.length <= 64 && !/[\r\n]/.test(value) && keyWords(value).length <= 5 && /\p{L}/u.test(value)
}

/** Returns the role of the nearest key with a known name. In `recipients/0/name`, `recipients` outranks `name`. */
function roleBelow(above: ArgRole | undefined, key: string): ArgRole | undefined {
  if (/^\d+$/.test(key)) return above
  const own = roleOfName(key)
  return own === undefined || (above !== undefined && rank(above) > rank(own)) ? above : own
}

function isAddress(value: string): boolean {
  if (value.length > longestAddress) return false
  const trimmed = value.trim()
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(trimmed) || isUrl(value) || isIpAddress(trimmed) || isBankAccount(trimmed)
}

/** Returns whether a value is an IP address, with or without a port. */
function isIpAddress(value: string): boolean {
  return isIP(value.replace(/^\[(.*)\](?::\d{1,5})?$/, '$1')) > 0 || isIP(value.replace(/:\d{1,5}$/, '')) === 4
}

/** Returns whether a value has the form of an IBAN, also in groups. */
export function isBankAccount(value: string): boolean {
  return /^[a-z]{2}\d{2}[a-z\d]{11,30}$/i.test(value.replaceAll(/[ -]/g, '')) && value.length <= 50
}

/** Returns whether a value is a key: it has a digit, and no white space. */
function isKey(value: string): boolean {
  return value.length <= 64 && /^(?=.*\d)[\p{L}\p{N}#][\p{L}\p{N}_:.-]*$/u.test(value)
}

const longestAddress = 2_000

function rank(role: ArgRole): number {
  return role === 'credential' || role === 'destination' ? 2 : role === 'selector' || role === 'attachment' ? 1 : 0
}

/** Returns the words of a key: `userEmail`, `user_email` and `user-email` have the same words. */
export function keyWords(key: string): readonly string[] {
  return key
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}
