import type { FilePart, FileSource, Message, MessageInit, Part, ToolOutput } from '../messages/message.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { JsonPointer } from '../values/json.ts'
import { toJson } from '../values/json.ts'
import type { Label, LabelInit } from '../values/label.ts'
import type { Scrubber } from './scrubber.ts'

/** Returns a message without secrets, and the same object where there are none. */
export function scrubMessage(scrubber: Scrubber, message: Message): Message {
  if (scrubber.empty) return message
  const content = scrubParts(scrubber, message.content)
  const error = message.error && scrubErrorInfo(scrubber, message.error)
  const label = message.label && labelIn(scrubber, message.label)
  const data = message.data === undefined ? {} : { data: scrubber.scrubJson(message.data) }
  return fieldsOf(message, { content, ...(error && { error }), ...(label && { label }), ...data })
}

/** Returns a label without secrets in its sources and readers. */
export function labelIn<L extends LabelInit>(scrubber: Scrubber, label: L): L {
  const { sources, readers } = label
  return fieldsOf(label, {
    ...(sources && { sources: scrubber.scrubJson(sources) }),
    ...(readers && { readers: scrubber.scrubJson(readers) }),
  })
}

/** Returns labels of fields without secrets. */
export function labelsIn(
  scrubber: Scrubber,
  labels: Readonly<Record<JsonPointer, Label>>,
): Readonly<Record<JsonPointer, Label>> {
  // The fields are named as in the output, whose keys are scrubbed as well.
  const scrubbed = Object.entries(labels).map(([at, label]) => [scrubber.scrub(at), labelIn(scrubber, label)] as const)
  const same = scrubbed.every(([at, label]) => Reflect.get(labels, at) === label)
  return same ? labels : Object.fromEntries(scrubbed)
}

/** Returns a message that is not logged yet, without secrets. */
export function initIn(scrubber: Scrubber, init: MessageInit): MessageInit {
  const { content, label, data } = init
  return fieldsOf(init, {
    content: typeof content === 'string' ? scrubber.scrub(content) : scrubParts(scrubber, content),
    ...(label && { label: labelIn(scrubber, label) }),
    ...(data !== undefined && { data: scrubber.scrubJson(toJson(data)) }),
  })
}

/** Returns parts without secrets, and the same list where there are none. */
export function scrubParts(scrubber: Scrubber, parts: readonly Part[]): readonly Part[] {
  return scrubber.empty ? parts : each(parts, (part) => partIn(scrubber, part))
}

/** Provider metadata and origin may be on parts of any type. */
function partIn(scrubber: Scrubber, part: Part): Part {
  const { providerOptions, label } = part
  const scrubbed = contentIn(scrubber, part)
  if (!providerOptions && !label) return scrubbed
  return fieldsOf(scrubbed, {
    ...(scrubbed.providerOptions && { providerOptions: scrubber.scrubJson(scrubbed.providerOptions) }),
    ...(label && { label: labelIn(scrubber, label) }),
  })
}

function contentIn(scrubber: Scrubber, part: Part): Part {
  switch (part.type) {
    case 'text':
      return fieldsOf(part, { text: scrubber.scrub(part.text) })
    case 'reasoning': {
      const text = scrubber.scrub(part.text)
      if (text === part.text) return part
      // The signature was for the original text.
      const { providerOptions: _, ...rest } = part
      return { ...rest, text }
    }
    case 'tool-call':
      // A model may call a tool by any name.
      return fieldsOf(part, {
        toolName: scrubber.scrub(part.toolName),
        toolCallId: scrubber.scrub(part.toolCallId),
        input: scrubber.tokenise(part.input),
      })
    case 'tool-result': {
      const output = scrubOutput(scrubber, part.output)
      const details = part.details === undefined ? {} : { details: scrubber.scrubJson(part.details) }
      const labels = part.fields && { fields: labelsIn(scrubber, part.fields) }
      return fieldsOf(part, {
        toolName: scrubber.scrub(part.toolName),
        toolCallId: scrubber.scrub(part.toolCallId),
        output,
        ...details,
        ...labels,
      })
    }
    case 'file':
    case 'reasoning-file':
      return fileIn(scrubber, part)
    case 'custom':
      return part
    default:
      // A part of an unknown type may contain text as well.
      return scrubber.scrubJson(part)
  }
}

/** Returns a file without secrets. */
export function fileIn(scrubber: Scrubber, part: FilePart): FilePart {
  const { filename, mediaType } = part
  return fieldsOf(part, {
    data: sourceIn(scrubber, part.data),
    mediaType: scrubber.scrub(mediaType),
    ...(filename !== undefined && { filename: scrubber.scrub(filename) }),
  })
}

/** Scrubs files of all media types, because any of them may contain text. */
function sourceIn(scrubber: Scrubber, data: FileSource): FileSource {
  switch (data.type) {
    case 'data':
      return fieldsOf(data, { data: scrubber.scrubBase64(data.data) })
    case 'text':
      return fieldsOf(data, { text: scrubber.scrub(data.text) })
    case 'url':
      return fieldsOf(data, { url: urlIn(scrubber, data.url) })
    case 'reference':
      return fieldsOf(data, { reference: scrubber.scrubJson(data.reference) })
    case 'blob':
      return data
    default:
      return scrubber.scrubJson(data)
  }
}

function urlIn(scrubber: Scrubber, url: string): string {
  const comma = url.indexOf(',')
  if (comma < 0 || !/^data:[^,]*;base64,/i.test(url.slice(0, Math.min(comma + 1, 1000)))) return scrubber.scrub(url)
  return scrubber.scrub(url.slice(0, comma + 1)) + scrubber.scrubBase64(url.slice(comma + 1))
}

/** Returns the output of a tool without secrets. */
export function scrubOutput(scrubber: Scrubber, output: ToolOutput): ToolOutput {
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
      // The type of each part is kept.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- partIn keeps the type of a part
      const value = each(output.value, (part) => partIn(scrubber, part) as typeof part)
      return fieldsOf(output, { value })
    }
    default:
      return scrubber.scrubJson(output)
  }
}

/** Returns error data without secrets. */
export function scrubErrorInfo(scrubber: Scrubber, info: ErrorInfo): ErrorInfo {
  const { code, message, hint } = info
  return fieldsOf(info, {
    code: scrubber.scrub(code),
    message: scrubber.scrub(message),
    ...(hint !== undefined && { hint: scrubber.scrub(hint) }),
  })
}

/** Returns the same list where no item changes. */
export function each<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let copy: T[] | undefined
  for (const [index, item] of list.entries()) {
    const changed = change(item)
    if (changed !== item) (copy ??= [...list])[index] = changed
  }
  return copy ?? list
}

/** Returns the same object where no field changes. */
export function fieldsOf<T extends object>(of: T, given: object): T {
  for (const [key, value] of Object.entries(given)) if (Reflect.get(of, key) !== value) return { ...of, ...given }
  return of
}
