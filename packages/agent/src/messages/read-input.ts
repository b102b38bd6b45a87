import type {
  Input,
  Label,
  LabelInit,
  Message,
  ModelMessage,
  Part,
  UserContentPart,
  Clock,
  SessionStore,
} from '@provost/core'
import {
  clockOf,
  ProvostError,
  deepFreeze,
  fillLabel,
  isRecord,
  joinLabels,
  toJson,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'
import { fromModelMessages } from '@provost/provider'
import { isPart, messageFault, repairHistory } from '@provost/sessions'

import { messageOf } from './message.ts'

/**
 * Returns the messages of an input. User and system messages of the caller are trusted; imported answers and results
 * are untrusted unless they carry a label. Histories are repaired: each call gets exactly one result.
 *
 * @param key prefix of message ids; messages of a history keep their ids where these are free.
 * @param taken returns whether an id is in use.
 * @throws ProvostError `invalid-input` for any other value, `system-message-refused`
 */
export function messagesOf(
  input: Input,
  key: string,
  to: Recipient,
  taken: (id: string) => boolean = () => false,
): readonly Message[] {
  const { name: agent } = to
  const clock = clockOf(to.store)
  if (typeof input === 'string') {
    if (input.trim() === '') throw invalidInput('empty text')
    return [messageOf({ content: input }, clock, `${key}/0`, trustedLabel, agent)]
  }
  if (!Array.isArray(input)) throw invalidInput(input === null ? 'null' : typeof input)
  if (input.every(isUserContentPart) && !input.every(isPart)) {
    return messagesOf([{ role: 'user', content: [...input] }], key, to, taken)
  }
  // A copy: the caller's value is not frozen.
  const items = jsonItems(input)
  if (items.length === 0) throw invalidInput('empty list')
  if (items.every(isPart)) return [messageOf({ content: items }, clock, `${key}/0`, trustedLabel, agent)]
  const messages = items.every(isMessage)
    ? items
    : items.every(isModelMessage) && !items.some(isMessage)
      ? importMessages(input.filter(isModelMessage), clock, key, agent)
      : undefined
  if (!messages) throw invalidInput('list of mixed or unknown values')
  checkSystem(messages, to)
  const repaired = repairHistory(checkedMessages(messages), agent).messages
  if (!repaired.some(({ role }) => role !== 'system')) throw invalidInput('history without a message to answer')
  return withIdsAndLabels(repaired, key, taken)
}

/**
 * Returns a complete history from messages of Provost and of the AI SDK.
 *
 * @throws ProvostError `invalid-input` for an invalid message, `system-message-refused`
 */
export function historyOf(
  history: readonly (Message | ModelMessage)[],
  key: string,
  to: Recipient,
): { readonly messages: readonly Message[]; readonly repairs: readonly string[] } {
  if (!Array.isArray(history)) throw invalidInput(typeof history)
  const { name: agent } = to
  const clock = clockOf(to.store)
  const foreign = importMessages(
    history.filter((item) => !isMessage(item) && isModelMessage(item)),
    clock,
    key,
    agent,
  ).values()
  const messages = history.flatMap((item: unknown) => {
    if (!isMessage(item)) return isModelMessage(item) ? (foreign.next().value ?? []) : refuseInput()
    const [copy] = jsonItems([item])
    return isMessage(copy) ? copy : []
  })
  checkSystem(messages, to)
  const { messages: repaired, repairs } = repairHistory(checkedMessages(messages), agent)
  return { messages: withIdsAndLabels(repaired, key, () => false), repairs }
}

function withIdsAndLabels(
  messages: readonly Message[],
  key: string,
  taken: (id: string) => boolean,
): readonly Message[] {
  const used = new Set<string>()
  return messages.map((message, index) => {
    const free = message.id && !used.has(message.id) && !taken(message.id)
    const id = free ? message.id : `${key}/${index}`
    used.add(id)
    return deepFreeze({ ...message, id, label: fillLabel(message.label, defaultLabel(message)) })
  })
}

/** Rejects invalid messages: each model would reject them from now on. */
function checkedMessages(messages: readonly Message[]): readonly Message[] {
  for (const [index, message] of messages.entries()) {
    const fault = messageFault(message)
    if (fault !== undefined) throw invalidInput(`list: message ${index} is invalid (${fault})`)
  }
  return messages
}

function jsonItems(input: readonly unknown[]): readonly unknown[] {
  // The AI SDK's own conversion handles bytes and URLs in its messages.
  if (input.every(isModelMessage) && !input.some(isMessage)) return input
  if (input.some(holdsBytes)) throw invalidInput('list with bytes (write them as base64)')
  const copy = toJson(input)
  return Array.isArray(copy) ? copy : []
}

function importMessages(
  messages: readonly ModelMessage[],
  clock: Clock,
  key: string,
  agent: string,
): readonly Message[] {
  return convertModelMessages(messages).map(({ role, content }, index) => ({
    id: `${key}/${index}`,
    role,
    content: content.map((part) => prefixCallId(part, key)),
    label: labelIn(messages[index], defaultLabel({ role })),
    agent,
    createdAt: clock.now(),
    ...dataOf(messages[index]),
  }))
}

/** The application's data on a message without an id, which is read like one of the AI SDK. */
function dataOf(message: unknown): Pick<Message, 'data'> {
  return isRecord(message) && message['data'] !== undefined ? { data: toJson(message['data']) } : {}
}

function convertModelMessages(messages: readonly ModelMessage[]): ReturnType<typeof fromModelMessages> {
  try {
    return fromModelMessages(messages)
  } catch (cause) {
    throw invalidInput('list with an incomplete part', cause)
  }
}

/** Messages of the AI SDK have no labels. A label that the caller added to a message or a part is kept. */
export function labelIn(message: ModelMessage | undefined, otherwise: Label): Label {
  const own = fillLabel(labelOn(message), otherwise)
  if (message === undefined || typeof message.content === 'string') return own
  return joinLabels(own, ...message.content.map((part) => fillLabel(labelOn(part), own)))
}

function labelOn(value: unknown): LabelInit | undefined {
  return isRecord(value) && isLabelInit(value['label']) ? value['label'] : undefined
}

/** `fillLabel` replaces unknown words of a label by the strictest ones. */
export function isLabelInit(value: unknown): value is LabelInit {
  return isRecord(value)
}

/** Call ids from outside may repeat: the prefix tells where they came in. */
function prefixCallId(part: Part, key: string): Part {
  return part.type === 'tool-call' || part.type === 'tool-result'
    ? { ...part, callId: `${key}/call/${part.callId}` }
    : part
}

function defaultLabel({ role }: Pick<Message, 'role'>): Label {
  return role === 'user' || role === 'system' ? trustedLabel : untrustedLabel('import')
}

/** Returns whether a value may be a part of a user message of the AI SDK, whose conversion checks it. */
function isUserContentPart(value: unknown): value is UserContentPart {
  return isRecord(value) && (value['type'] === 'text' || value['type'] === 'image' || value['type'] === 'file')
}

function holdsBytes(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { data } = item
  return ArrayBuffer.isView(data) || (isRecord(data) && ArrayBuffer.isView(data['data']))
}

export function isMessage(value: unknown): value is Message {
  return isModelMessage(value) && 'id' in value && 'createdAt' in value && Array.isArray(value.content)
}

export function isModelMessage(value: unknown): value is ModelMessage {
  return (
    isRecord(value) &&
    typeof value['role'] === 'string' &&
    (typeof value['content'] === 'string' || Array.isArray(value['content']))
  )
}

function refuseInput(): never {
  throw invalidInput('list that contains other values than messages')
}

export function invalidInput(got: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-input', `A run takes text, parts or messages, not this ${got}.`, {
    hint: "Pass a string, parts such as { type: 'text', text } and { type: 'image', image }, or a list of messages.",
    cause,
  })
}

/** The agent that messages are for. */
export interface Recipient {
  readonly name: string
  readonly allowSystemMessages: boolean
  /** Its clock dates the messages. */
  readonly store: Pick<SessionStore, 'clock'>
}

/** Rejects system messages: models obey them, so a history from elsewhere must not contain any. */
function checkSystem(messages: readonly Message[], { name, allowSystemMessages }: Recipient): void {
  if (allowSystemMessages) return
  const at = messages.findIndex(({ role }) => role === 'system')
  if (at < 0) return
  throw new ProvostError('system-message-refused', `Message ${at} for agent ${name} has the role system.`, {
    hint: 'Write it in "instructions" of createAgent, or allow it with allowSystemMessages: true if your code wrote it.',
  })
}
