import type {
  Confidentiality,
  FilterDescriptor,
  Label,
  Message,
  Part,
  SensitivityRule,
  ToolResultPart,
} from '@provost/core'
import {
  assertNever,
  checkFilter,
  confidentialities,
  deepFreeze,
  fillLabel,
  joinLabels,
  labelOf,
  ProvostError,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'

/**
 * Returns what a filter transfers of a history. The same filter and messages give the same bytes in every process;
 * unchanged messages stay the same objects. System messages, reasoning and provider metadata never transfer. Calls
 * without a result and results without a call do not either.
 *
 * @throws ProvostError `invalid-filter` for an invalid descriptor; `filter-refused` if `require` is not met;
 * `summary-unwritten` for a summary without text
 *
 * @example
 * applyFilter(filters.lastUser(), session.messages)
 */
export function applyFilter(filter: FilterDescriptor, messages: readonly Message[]): readonly Message[] {
  return applied(checkFilter(filter), transferable(messages))
}

function applied(filter: FilterDescriptor, messages: readonly Message[]): readonly Message[] {
  switch (filter.kind) {
    case 'full':
    case 'stripReasoning':
      return messages
    case 'lastN':
      return filter.n === 0 ? [] : withoutOrphans(messages.slice(-filter.n))
    case 'lastUser':
      return lastTurn(messages)
    case 'stripToolCalls':
      return mapParts(messages, (part) => (part.type === 'tool-call' || part.type === 'tool-result' ? undefined : part))
    case 'stripSensitiveOutputs':
      return mapParts(messages, (part, label) =>
        part.type === 'tool-result' && label.confidentiality === 'secret' ? withheld(part) : part,
      )
    case 'bySensitivity':
      return bySensitivity(filter, messages)
    case 'summary':
      return summarised(filter.text, messages)
    case 'compose':
      return filter.filters.reduce((left, part) => applied(part, left), messages)
    default:
      return assertNever(filter)
  }
}

/** Returns what may cross any boundary. */
function transferable(messages: readonly Message[]): readonly Message[] {
  const mine = messages.filter(({ role }) => role !== 'system')
  return withoutOrphans(mapParts(mine, (part, _, { role }) => (role === 'user' ? part : withoutMeta(part))))
}

/** Returns a part without data that only its author may read: reasoning, and provider metadata. */
function withoutMeta(part: Part): Part | undefined {
  if (part.type === 'reasoning' || part.type === 'reasoning-file' || part.type === 'custom') return undefined
  if (!part.providerOptions) return part
  const { providerOptions: _, ...rest } = part
  return rest
}

/**
 * Replaces or removes each part. A message without remaining parts is removed; an unchanged message stays the same
 * object.
 */
function mapParts(
  messages: readonly Message[],
  map: (part: Part, label: Label, message: Message) => Part | undefined,
): readonly Message[] {
  return kept(messages, (message) => {
    let changed = false
    const content: Part[] = []
    for (const part of message.content) {
      const left = map(part, partLabel(part, message), message)
      changed ||= left !== part
      if (left) content.push(left)
    }
    return changed ? withContent(message, content) : message
  })
}

function kept(messages: readonly Message[], map: (message: Message) => Message | undefined): readonly Message[] {
  let changed = false
  const left: Message[] = []
  for (const message of messages) {
    const mapped = map(message)
    changed ||= mapped !== message
    if (mapped) left.push(mapped)
  }
  return changed ? left : messages
}

/** Returns undefined for an empty message; messages that report an error are kept. */
function withContent(message: Message, content: readonly Part[]): Message | undefined {
  const { role, label } = message
  const silent = content.every((part) => part.type === 'text' && part.text === '')
  if (silent && role !== 'error' && role !== 'aborted') return undefined
  // A tool message joins the labels of its results; every other message keeps its label.
  const own = role === 'tool' ? joinLabels(...content.map((part) => partLabel(part, message))) : label
  const { partial: _, ...rest } = message
  const whole = content.length === 0 ? rest : message
  return deepFreeze({ ...whole, content, ...(own && { label: own }) })
}

/** Returns the label of a part. A result has its own; every other part is at least as strict as its message. */
function partLabel(part: Part, { role, label }: Message): Label {
  const own = role === 'assistant' || role === 'tool' ? untrustedLabel(role) : trustedLabel
  const around = label ? fillLabel(label, own) : own
  if (part.type !== 'tool-result') return part.label ? joinLabels(around, fillLabel(part.label, around)) : around
  const whole = part.label ? fillLabel(part.label, around) : around
  return joinLabels(whole, ...innerLabels(part).map((inner) => fillLabel(inner, whole)))
}

function innerLabels({ fields, output }: ToolResultPart): readonly Partial<Label>[] {
  const parts = output.type === 'content' ? output.value.flatMap((part) => part.label ?? []) : []
  return [...Object.values(fields ?? {}), ...parts]
}

/** Returns a history without some calls and their results. */
export function withoutCalls(messages: readonly Message[], callIds: ReadonlySet<string>): readonly Message[] {
  return mapParts(messages, (part) =>
    (part.type === 'tool-call' || part.type === 'tool-result') && callIds.has(part.callId) ? undefined : part,
  )
}

/** Returns messages without calls that lack a result and results that lack a call. */
function withoutOrphans(messages: readonly Message[]): readonly Message[] {
  const called = new Set<string>()
  const whole = new Set<string>()
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type === 'tool-call' && role === 'assistant') called.add(part.callId)
      else if (part.type === 'tool-result' && called.has(part.callId)) whole.add(part.callId)
    }
  }
  return mapParts(messages, (part) =>
    (part.type === 'tool-call' || part.type === 'tool-result') && !whole.has(part.callId) ? undefined : part,
  )
}

/**
 * Returns the last group of adjacent user messages: a provider treats them as one. A message with a purpose is the
 * runtime's, not the user's.
 */
function lastTurn(messages: readonly Message[]): readonly Message[] {
  const isTurn = ({ role, purpose }: Message): boolean => role === 'user' && purpose === undefined
  const end = messages.findLastIndex(isTurn)
  let start = end
  for (let i = end - 1; i >= 0; i--) {
    const before = messages[i]
    if (before?.role !== 'user') break
    if (isTurn(before)) start = i
  }
  return messages.slice(Math.max(start, 0), end + 1).filter(isTurn)
}

function bySensitivity(rule: SensitivityRule, messages: readonly Message[]): readonly Message[] {
  if ('require' in rule) {
    const most = rankOf(rule.require)
    for (const message of messages) {
      if (message.content.some((part) => rankOf(partLabel(part, message).confidentiality) > most)) {
        throw refused(rule.require)
      }
    }
    return messages
  }
  const most = 'keep' in rule ? rankOf(rule.keep) : rankOf(rule.drop) - 1
  return withoutOrphans(mapParts(messages, (part, label) => (rankOf(label.confidentiality) > most ? undefined : part)))
}

function rankOf(level: Confidentiality): number {
  return confidentialities.indexOf(level)
}

function refused(level: Confidentiality): ProvostError {
  return new ProvostError(
    'filter-refused',
    `The history contains data above the level ${level}, which may not cross.`,
    {
      hint: 'Transfer less with bySensitivity({ keep }), or answer without handing over.',
    },
  )
}

function withheld(part: ToolResultPart): ToolResultPart {
  const { callId, toolCallId, toolName } = part
  const output = { type: 'text', value: 'This result is secret and was withheld.' } as const
  return { type: 'tool-result', callId, toolCallId, toolName, output, label: trustedLabel }
}

/** Returns one message in place of all. It names its author, and carries the label of everything it summarises. */
function summarised(text: string | undefined, messages: readonly Message[]): readonly Message[] {
  if (text === undefined) {
    throw new ProvostError('summary-unwritten', 'The summary filter has no text: a model writes it at the handoff.', {
      hint: 'Apply the filter that the handoff entry of the log contains.',
    })
  }
  const last = messages.at(-1)
  if (!last) return messages
  const content = `Summary of the conversation so far, written by a model, not by the user:\n${text}`
  return [
    deepFreeze({
      id: `${last.id}/summary`,
      role: 'user',
      content: [{ type: 'text', text: content }],
      label: joinLabels(...messages.map(labelOf)),
      createdAt: last.createdAt,
      purpose: 'summary',
    }),
  ]
}
