import type { ErrorInfo } from './error.ts'
import { assertNever } from './error.ts'
import type { EventPayloads, EventType } from './event.ts'
import type { Json } from './json.ts'
import { isRecord } from './json.ts'
import type { NewEntry } from './log.ts'
import type { FilePart, Message, MessageInit, Part, ToolOutput } from './message.ts'
import type { Scrubber } from './scrubber.ts'

/**
 * A log entry without secrets: in what people, models, tools and hooks have said, not in what makes it an entry. What
 * holds none is not copied.
 */
export function scrubEntry<E extends NewEntry>(scrubber: Scrubber, entry: E): E {
  if (scrubber.empty) return entry
  const changed = changesIn(scrubber, entry)
  return Object.keys(changed).length === 0 ? entry : { ...entry, ...changed }
}

function changesIn(scrubber: Scrubber, entry: NewEntry): object {
  const { scrubJson, tokenise } = scrubber
  switch (entry.type) {
    case 'run':
      return entry.op === 'ended' ? fields(entry, { output: scrubJson, error: (error) => infoIn(scrubber, error) }) : {}
    case 'message':
      return fields(entry, { message: (message) => scrubMessage(scrubber, message) })
    case 'call':
      switch (entry.op) {
        case 'planned':
          return fields(entry, { args: tokenise })
        case 'decided':
          return fields(entry, { args: tokenise, reason: scrubJson })
        case 'settled':
          return fields(entry, {
            output: (output) => outputIn(scrubber, output),
            details: scrubJson,
            error: (error) => infoIn(scrubber, error),
          })
        case 'started':
        case 'parked':
        case 'deferred':
          return {}
        default:
          return assertNever(entry)
      }
    case 'wait':
      return fields(entry, { reason: scrubJson, evidence: tokenise, about: scrubJson })
    case 'resolved':
      return fields(entry, { value: (value) => scrubAnswer(scrubber, value) })
    case 'view':
      return fields(entry, { with: (messages) => each(messages, (one) => scrubMessage(scrubber, one)) })
    case 'tail':
      return fields(entry, { with: (messages) => each(messages, (one) => initIn(scrubber, one)) })
    case 'memo':
      return fields(entry, { value: tokenise })
    case 'ext':
      return fields(entry, { data: tokenise })
    case 'audit':
      return fields(entry, { rule: scrubJson, sources: scrubJson, evidence: scrubJson })
    case 'attempt':
      return {}
    case 'child':
      return entry.op === 'joined' ? fields(entry, { error: (error) => infoIn(scrubber, error) }) : {}
    case 'handoff':
      // What crosses was taken from entries without secrets, and is known by its hash.
      return fields(entry, { denied: scrubJson })
    default:
      return assertNever(entry)
  }
}

/** What somebody outside answered: a verdict, with arguments it may be, or a result. */
export function scrubAnswer(scrubber: Scrubber, value: Json): Json {
  if (scrubber.empty || !isRecord(value)) return scrubber.tokenise(value)
  const { decision, ...said } = value
  const scrubbed = scrubber.tokenise(said)
  return scrubbed === said ? value : { ...(decision !== undefined && { decision }), ...scrubbed }
}

/** A message without secrets; the very same one where it holds none. */
export function scrubMessage(scrubber: Scrubber, message: Message): Message {
  if (scrubber.empty) return message
  const content = scrubParts(scrubber, message.content)
  const error = message.error && infoIn(scrubber, message.error)
  if (content === message.content && error === message.error) return message
  return { ...message, content, ...(error && { error }) }
}

function initIn(scrubber: Scrubber, init: MessageInit): MessageInit {
  const { content } = init
  return fieldsOf(init, {
    content: typeof content === 'string' ? scrubber.scrub(content) : scrubParts(scrubber, content),
  })
}

/** Parts without secrets; the very same list where they hold none. */
export function scrubParts(scrubber: Scrubber, parts: readonly Part[]): readonly Part[] {
  return scrubber.empty ? parts : each(parts, (part) => partIn(scrubber, part))
}

function partIn(scrubber: Scrubber, part: Part): Part {
  switch (part.type) {
    case 'text':
      return fieldsOf(part, { text: scrubber.scrub(part.text) })
    case 'reasoning': {
      const text = scrubber.scrub(part.text)
      if (text === part.text) return part
      // Its signature was for the other text.
      const { providerOptions: _, ...rest } = part
      return { ...rest, text }
    }
    case 'tool-call':
      // A model may call whatever it likes.
      return fieldsOf(part, {
        toolName: scrubber.scrub(part.toolName),
        toolCallId: scrubber.scrub(part.toolCallId),
        input: scrubber.tokenise(part.input),
      })
    case 'tool-result': {
      const output = outputIn(scrubber, part.output)
      const details = part.details === undefined ? {} : { details: scrubber.scrubJson(part.details) }
      return fieldsOf(part, {
        toolName: scrubber.scrub(part.toolName),
        toolCallId: scrubber.scrub(part.toolCallId),
        output,
        ...details,
      })
    }
    case 'file':
    case 'reasoning-file':
      return fileIn(scrubber, part)
    case 'custom':
      return part
    default:
      // Of a kind that is not known here: what is in it is text all the same.
      return scrubber.scrubJson(part)
  }
}

function fileIn(scrubber: Scrubber, part: FilePart): FilePart {
  const { data, filename } = part
  const name = filename === undefined ? {} : { filename: scrubber.scrub(filename) }
  if (data.type === 'text')
    return fieldsOf(part, { data: fieldsOf(data, { text: scrubber.scrub(data.text) }), ...name })
  if (data.type === 'url') return fieldsOf(part, { data: fieldsOf(data, { url: scrubber.scrub(data.url) }), ...name })
  // The bytes of an image are no text, and a scan of them would cost more than it finds.
  if (data.type === 'data' && /^(text\/|application\/(json|xml|yaml))/.test(part.mediaType)) {
    const bytes = Uint8Array.from(atob(data.data), (unit) => unit.charCodeAt(0))
    const scrubbed = scrubber.scrubBytes(bytes)
    if (scrubbed !== bytes) {
      const text = Array.from(scrubbed, (byte) => String.fromCharCode(byte)).join('')
      return { ...part, data: { type: 'data', data: btoa(text) }, ...name }
    }
  }
  return fieldsOf(part, name)
}

function outputIn(scrubber: Scrubber, output: ToolOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return fieldsOf(output, { value: scrubber.scrub(output.value) })
    case 'json':
    case 'error-json':
      return fieldsOf(output, { value: scrubber.scrubJson(output.value) })
    case 'execution-denied':
      return output.reason === undefined ? output : fieldsOf(output, { reason: scrubber.scrub(output.reason) })
    case 'content': {
      const value = each(output.value, (part) =>
        part.type === 'text' ? fieldsOf(part, { text: scrubber.scrub(part.text) }) : fileIn(scrubber, part),
      )
      return fieldsOf(output, { value })
    }
    default:
      return output
  }
}

/** What a tool gave, without secrets. */
export const scrubOutput: (scrubber: Scrubber, output: ToolOutput) => ToolOutput = outputIn

function infoIn(scrubber: Scrubber, info: ErrorInfo): ErrorInfo {
  const hint = info.hint === undefined ? {} : { hint: scrubber.scrub(info.hint) }
  return fieldsOf(info, { message: scrubber.scrub(info.message), ...hint })
}

/** An error as data, without secrets. */
export const scrubErrorInfo: (scrubber: Scrubber, info: ErrorInfo) => ErrorInfo = infoIn

/** What events carry that somebody said: all other fields say where they belong. */
const spoken: ReadonlySet<string> = new Set([
  ...['delta', 'text', 'data', 'value', 'url', 'title', 'reason', 'feedback', 'evidence', 'sources', 'output'],
  ...['details', 'tags'],
])

/** The payload of an event without secrets. */
export function scrubPayload<K extends EventType>(scrubber: Scrubber, payload: EventPayloads[K]): EventPayloads[K] {
  if (scrubber.empty) return payload
  const changes: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(payload)) {
    if (spoken.has(key)) changes[key] = scrubber.scrubJson(value)
    else if (key === 'input') changes[key] = scrubber.tokenise(value)
    else if (key === 'error' && isErrorInfo(value)) changes[key] = infoIn(scrubber, value)
    else if (key === 'message' && isMessage(value)) changes[key] = scrubMessage(scrubber, value)
    else if (key === 'file' && isFile(value)) changes[key] = fileIn(scrubber, value)
  }
  return fieldsOf(payload, changes)
}

function isErrorInfo(value: unknown): value is ErrorInfo {
  return isRecord(value) && typeof value['message'] === 'string' && typeof value['code'] === 'string'
}

function isMessage(value: unknown): value is Message {
  return isRecord(value) && Array.isArray(value['content'])
}

function isFile(value: unknown): value is FilePart {
  return isRecord(value) && isRecord(value['data'])
}

function each<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let copy: T[] | undefined
  for (const [index, item] of list.entries()) {
    const changed = change(item)
    if (changed !== item) (copy ??= [...list])[index] = changed
  }
  return copy ?? list
}

/** The same object where no field is another. */
function fieldsOf<T extends object>(of: T, given: object): T {
  for (const [key, value] of Object.entries(given)) if (Reflect.get(of, key) !== value) return { ...of, ...given }
  return of
}

/** The fields that a change makes other ones; those that are not there stay away. */
function fields<E extends object>(
  of: E,
  changes: { readonly [K in keyof E]?: (value: Exclude<E[K], undefined>) => E[K] },
): object {
  const changed: Record<string, unknown> = {}
  for (const key in changes) {
    const value = of[key]
    if (value === undefined) continue
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not undefined, as was just seen
    const next = changes[key]?.(value as Exclude<E[typeof key], undefined>)
    if (next !== value) changed[key] = next
  }
  return changed
}
