import type { NewEntry } from '../log/entry.ts'
import type { EventPayloads, EventType } from '../log/event.ts'
import type { Principal } from '../log/run-status.ts'
import type { FilePart, Message } from '../messages/message.ts'
import type { ErrorInfo } from '../values/error.ts'
import { assertNever } from '../values/error.ts'
import type { Json } from '../values/json.ts'
import { isRecord } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import {
  each,
  fieldsOf,
  fileIn,
  initIn,
  labelIn,
  labelsIn,
  scrubErrorInfo,
  scrubMessage,
  scrubOutput,
} from './scrub-message.ts'
import type { Scrubber } from './scrubber.ts'

/**
 * Returns a log entry without secrets: scrubs content from people, models, tools and hooks, and keeps the structure of
 * the entry. An entry without secrets is not copied.
 */
export function scrubEntry<E extends NewEntry>(scrubber: Scrubber, entry: E): E {
  if (scrubber.empty) return entry
  const changed: Record<string, unknown> = { ...changesIn(scrubber, entry) }
  for (const [key, value] of Object.entries(entry)) {
    // A number in these entries is a measurement, even if it equals the value of a secret.
    if (knownFields.has(key) || typeof value === 'number') continue
    const scrubbed: unknown = scrubber.scrubJson(value)
    if (scrubbed !== value) changed[key] = scrubbed
  }
  return Object.keys(changed).length === 0 ? entry : { ...entry, ...changed }
}

/** Fields of entries with their own scrubbing, or with values that the runtime makes. All other fields are scrubbed whole. */
const knownFields: ReadonlySet<string> = namesIn(`
  id offset at runId step agent v type op key name log by callId parentCallId toolName token kind
  status usage cost label fields hash inputHash argsHash principal manifest trace grant parent message
  via held unsaid attempt model outcome finishReason class purpose args reason fence repeatable output
  value details error durationMs deadline evidence sticky parks schema child filter with toolCalls
  steps handoffs from to mode others denied compacted data decision rule sources
`)

function namesIn(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/))
}

function changesIn(scrubber: Scrubber, entry: NewEntry): object {
  const { scrub, scrubJson, tokenise } = scrubber
  const label = (of: Label): Label => labelIn(scrubber, of)
  const messages = (list: readonly Message[]): readonly Message[] => each(list, (one) => scrubMessage(scrubber, one))
  switch (entry.type) {
    case 'run':
      if (entry.op === 'started') return fields(entry, { principal: (principal) => principalIn(scrubber, principal) })
      return entry.op === 'ended'
        ? fields(entry, { output: scrubJson, error: (error) => scrubErrorInfo(scrubber, error), source: scrubJson })
        : {}
    case 'message':
      return fields(entry, { message: (message) => scrubMessage(scrubber, message) })
    case 'call':
      switch (entry.op) {
        case 'planned':
          return fields(entry, { args: tokenise, key: scrub, toolName: scrub, flow: scrubJson })
        case 'decided':
          return fields(entry, { args: tokenise, reason: scrubJson, by: scrub })
        case 'settled':
          return fields(entry, {
            output: (output) => scrubOutput(scrubber, output),
            value: scrubJson,
            label,
            fields: (labels) => labelsIn(scrubber, labels),
            details: scrubJson,
            error: (error) => scrubErrorInfo(scrubber, error),
          })
        case 'started':
        case 'parked':
        case 'deferred':
          return {}
        default:
          return assertNever(entry)
      }
    case 'wait':
      return fields(entry, {
        reason: scrubJson,
        evidence: tokenise,
        schema: scrubJson,
        about: scrubJson,
        child: (child) => fieldsOf(child, { input: tokenise(child.input) }),
      })
    case 'resolved':
      return fields(entry, { value: (value) => scrubAnswer(scrubber, value), by: scrub })
    case 'view':
      return fields(entry, { with: messages })
    case 'tail':
      return fields(entry, { with: (inits) => each(inits, (one) => initIn(scrubber, one)), label })
    case 'memo':
      return fields(entry, { value: tokenise })
    case 'ext':
      return fields(entry, { data: tokenise })
    case 'audit':
      return fields(entry, { rule: scrubJson, sources: scrubJson, evidence: scrubJson })
    case 'attempt':
      return fields(entry, { model: scrub })
    case 'child':
      return entry.op === 'joined'
        ? fields(entry, { error: (error) => scrubErrorInfo(scrubber, error), label })
        : fields(entry, { label, filter: scrubJson, with: messages })
    case 'handoff':
      return fields(entry, { denied: scrubJson, label, filter: scrubJson, with: messages })
    default:
      return assertNever(entry)
  }
}

/** Scrubs an answer from outside: a verdict, possibly with arguments, or a result. */
export function scrubAnswer(scrubber: Scrubber, value: Json): Json {
  if (scrubber.empty) return value
  // The tokens of a result are never resolved.
  if (!isRecord(value) || value['decision'] === undefined) return scrubber.scrubJson(value)
  const { decision, ...said } = value
  const scrubbed = scrubber.tokenise(said)
  return scrubbed === said ? value : { decision, ...scrubbed }
}

/** Keeps the principal, because stores find sessions by it. */
function principalIn(scrubber: Scrubber, principal: Principal): Principal {
  const { claims } = principal
  return claims === undefined ? principal : fieldsOf(principal, { claims: scrubber.scrubJson(claims) })
}

/** Event fields that the runtime makes: ids and fixed words. All other fields are scrubbed. */
const ownFields: ReadonlySet<string> = namesIn(`
  id token sessionId messageId partId callId runId parentCallId status trigger confidentiality class
  mode via finishReason decision usage
`)

/** Returns the payload of an event without secrets. */
export function scrubPayload<K extends EventType>(scrubber: Scrubber, payload: EventPayloads[K]): EventPayloads[K] {
  if (scrubber.empty) return payload
  const changes: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(payload)) {
    if (ownFields.has(key) || typeof value === 'number') continue
    if (key === 'input') changes[key] = scrubber.tokenise(value)
    else if (key === 'label' && isRecord(value)) changes[key] = labelIn(scrubber, value)
    else if (key === 'error' && isErrorInfo(value)) changes[key] = scrubErrorInfo(scrubber, value)
    else if (key === 'message' && isMessage(value)) changes[key] = scrubMessage(scrubber, value)
    else if (key === 'file' && isFile(value)) changes[key] = fileIn(scrubber, value)
    else changes[key] = scrubber.scrubJson(value)
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

/** Returns the fields that a change replaces; absent fields stay absent. */
function fields<E extends object>(
  of: E,
  changes: { readonly [K in keyof E]?: (value: Exclude<E[K], undefined>) => E[K] },
): object {
  const changed: Record<string, unknown> = {}
  for (const key in changes) {
    const value = of[key]
    if (value === undefined) continue
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked above: not undefined
    const next = changes[key]?.(value as Exclude<E[typeof key], undefined>)
    if (next !== value) changed[key] = next
  }
  return changed
}
