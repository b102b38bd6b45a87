import type { Input, Label, LabelInit, Message, MessageInit, ModelMessage, NewEntry, Part } from '@provost/core'
import {
  deepFreeze,
  fillLabel,
  isRecord,
  joinLabels,
  labelOf,
  ProvostError,
  toJson,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'
import { fromModelMessages } from '@provost/provider'
import { isPart, messageFault, repairHistory } from '@provost/sessions'

import type { Place } from './entry.ts'
import { newEntry } from './entry.ts'
import { knowing } from './hook-context.ts'
import { inHookTime } from './hook-time.ts'
import { messageOf } from './message-init.ts'
import { hookFailed, stopped } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'

/** The agent that messages are for. */
export interface Recipient {
  readonly name: string
  readonly allowSystemMessages: boolean
}

/**
 * The messages that an input means. What the caller wrote as user or system is trusted; imported answers and results
 * are not, unless they carry a label. Histories are repaired: each call gets its one result.
 *
 * @param key makes the ids of the messages; a history keeps its own where they are free.
 * @param taken says which ids are not.
 * @throws ProvostError `invalid-input` for anything else, `system-message-refused`
 */
export function messagesOf(
  input: Input,
  key: string,
  to: Recipient,
  taken: (id: string) => boolean = () => false,
): readonly Message[] {
  const { name: agent } = to
  if (typeof input === 'string') {
    if (input.trim() === '') throw invalidInput('empty text')
    return [messageOf({ content: input }, `${key}/0`, trustedLabel, agent)]
  }
  if (!Array.isArray(input)) throw invalidInput(input === null ? 'null' : typeof input)
  // A copy: what the caller passes stays the caller's, and is not frozen.
  const items = jsonItems(input)
  if (items.length === 0) throw invalidInput('empty list')
  if (items.every(isPart)) return [messageOf({ content: items }, `${key}/0`, trustedLabel, agent)]
  const messages = items.every(isMessage)
    ? items
    : items.every(isModelMessage) && !items.some(isMessage)
      ? imported(input.filter(isModelMessage), key, agent)
      : undefined
  if (!messages) throw invalidInput('list of mixed or unknown things')
  checkSystem(messages, to)
  const repaired = repairHistory(sound(messages), agent).messages
  if (!repaired.some(({ role }) => role !== 'system')) throw invalidInput('history with nothing to answer in it')
  return whole(repaired, key, taken)
}

/**
 * A history from outside, of our messages and those of the AI SDK, whole.
 *
 * @throws ProvostError `invalid-input` for what is no message, `system-message-refused`
 */
export function historyOf(
  history: readonly (Message | ModelMessage)[],
  key: string,
  to: Recipient,
): { readonly messages: readonly Message[]; readonly repairs: readonly string[] } {
  if (!Array.isArray(history)) throw invalidInput(typeof history)
  const { name: agent } = to
  const foreign = imported(
    history.filter((item) => !isMessage(item) && isModelMessage(item)),
    key,
    agent,
  ).values()
  const messages = history.flatMap((item: unknown) => {
    if (!isMessage(item)) return isModelMessage(item) ? (foreign.next().value ?? []) : refuseInput()
    const [copy] = jsonItems([item])
    return isMessage(copy) ? copy : []
  })
  checkSystem(messages, to)
  const { messages: repaired, repairs } = repairHistory(sound(messages), agent)
  return { messages: whole(repaired, key, () => false), repairs }
}

function whole(messages: readonly Message[], key: string, taken: (id: string) => boolean): readonly Message[] {
  const used = new Set<string>()
  return messages.map((message, index) => {
    const free = message.id && !used.has(message.id) && !taken(message.id)
    const id = free ? message.id : `${key}/${index}`
    used.add(id)
    return deepFreeze({ ...message, id, label: fillLabel(message.label, defaultLabel(message)) })
  })
}

/** What is said in the role of the system is obeyed: a history that comes from elsewhere must not bring any. */
function checkSystem(messages: readonly Message[], { name, allowSystemMessages }: Recipient): void {
  if (allowSystemMessages) return
  const at = messages.findIndex(({ role }) => role === 'system')
  if (at < 0) return
  throw new ProvostError('system-message-refused', `Message ${at} for agent ${name} has the role system.`, {
    hint: 'Write it in "instructions" of createAgent, or allow it with allowSystemMessages: true if your code wrote it.',
  })
}

/** What lacks something would be refused by each model that it is sent to, from now on. */
function sound(messages: readonly Message[]): readonly Message[] {
  for (const [index, message] of messages.entries()) {
    const fault = messageFault(message)
    if (fault !== undefined) throw invalidInput(`list: message ${index} is none (${fault})`)
  }
  return messages
}

function jsonItems(input: readonly unknown[]): readonly unknown[] {
  // Messages of the AI SDK may hold bytes and URLs: their own conversion takes care of these.
  if (input.every(isModelMessage) && !input.some(isMessage)) return input
  if (input.some(holdsBytes)) throw invalidInput('list with bytes in it (write them as base64)')
  const copy = toJson(input)
  return Array.isArray(copy) ? copy : []
}

function imported(messages: readonly ModelMessage[], key: string, agent: string): readonly Message[] {
  return ours(messages).map(({ role, content }, index) => ({
    id: `${key}/${index}`,
    role,
    content: content.map((part) => ownCall(part, key)),
    label: labelIn(messages[index], defaultLabel({ role })),
    agent,
    createdAt: Date.now(),
  }))
}

function ours(messages: readonly ModelMessage[]): ReturnType<typeof fromModelMessages> {
  try {
    return fromModelMessages(messages)
  } catch (cause) {
    throw invalidInput('list with a part that lacks something', cause)
  }
}

/** The AI SDK knows no labels. One that somebody gave its messages or parts all the same is not lost. */
function labelIn(message: ModelMessage | undefined, otherwise: Label): Label {
  const own = fillLabel(labelOn(message), otherwise)
  if (message === undefined || typeof message.content === 'string') return own
  return joinLabels(own, ...message.content.map((part) => fillLabel(labelOn(part), own)))
}

function labelOn(value: unknown): LabelInit | undefined {
  return isRecord(value) && isLabelInit(value['label']) ? value['label'] : undefined
}

/** What its words are, `fillLabel` sees to: those that mean nothing become the strictest. */
function isLabelInit(value: unknown): value is LabelInit {
  return isRecord(value)
}

/** Call ids from outside may come again: ours say where they came in. */
function ownCall(part: Part, key: string): Part {
  return part.type === 'tool-call' || part.type === 'tool-result'
    ? { ...part, callId: `${key}/call/${part.callId}` }
    : part
}

function defaultLabel({ role }: Pick<Message, 'role'>): Label {
  return role === 'user' || role === 'system' ? trustedLabel : untrustedLabel('import')
}

function holdsBytes(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { data } = item
  return ArrayBuffer.isView(data) || (isRecord(data) && ArrayBuffer.isView(data['data']))
}

function isMessage(value: unknown): value is Message {
  return isModelMessage(value) && 'id' in value && 'createdAt' in value && Array.isArray(value.content)
}

function isModelMessage(value: unknown): value is ModelMessage {
  return (
    isRecord(value) &&
    typeof value['role'] === 'string' &&
    (typeof value['content'] === 'string' || Array.isArray(value['content']))
  )
}

function refuseInput(): never {
  throw invalidInput('list with something else than messages in it')
}

function invalidInput(got: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-input', `A run takes text, parts or messages, not this ${got}.`, {
    hint: "Pass a string, [{ type: 'text', text }] or a list of messages.",
    cause,
  })
}

/**
 * The entries by which messages enter a run, after the `input` hooks saw each.
 *
 * @param key of the place where they enter: makes the ids of the entries.
 * @throws RunEnding when a hook stops the run or fails.
 */
export async function enterMessages(
  scope: RunScope,
  messages: readonly Message[],
  via: 'input' | 'steer' | 'queue',
  place: Place,
  key: string,
): Promise<readonly NewEntry[]> {
  const entries: NewEntry[] = []
  for (const message of messages) {
    const { entered, tail } = await throughHooks(scope, message)
    // The id of a message may come from outside; where it enters is ours to say.
    const id = `${key}/entry/${entries.length}`
    entries.push(newEntry(place, id, { type: 'message', message: entered, via }))
    if (tail.length > 0) {
      const { label } = tailMessages(tail, entered.id)
      entries.push(newEntry(place, `${id}/tail`, { type: 'tail', hash: '', label, with: tail }))
    }
  }
  return entries
}

async function throughHooks(
  scope: RunScope,
  message: Message,
): Promise<{ entered: Message; tail: readonly MessageInit[] }> {
  let entered = message
  const tail: MessageInit[] = []
  for (const { extension, hook } of scope.plan.hooks.input) {
    try {
      const answer = await inHookTime(
        scope,
        extension,
        'input',
        hook(entered, knowing(scope, extension, labelOf(entered))),
      )
      if (!answer) continue
      if ('stop' in answer) throw stopped(answer)
      if (answer.message) {
        entered = messageOf({ role: entered.role, ...answer.message }, entered.id, entered.label, entered.agent)
      }
      tail.push(...(answer.tail ?? []))
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'input', thrown)
    }
  }
  return { entered, tail }
}

/** Messages behind the history, whole, and the join of their labels. */
export function tailMessages(
  tail: readonly MessageInit[],
  key: string,
): { messages: readonly Message[]; label: Label } {
  const messages = tail.map((init, index) => messageOf(init, `${key}/tail/${index}`))
  return { messages, label: joinOf(messages) }
}

function joinOf(messages: readonly Message[]): Label {
  return joinLabels(...messages.map(labelOf))
}
