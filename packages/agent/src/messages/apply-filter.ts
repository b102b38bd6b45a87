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
 * What a filter lets across, of a history. The same descriptor and messages give the same bytes, here and anywhere:
 * messages that cross whole are the very objects that were given. System messages, reasoning, and what a provider
 * attached for itself never cross; calls without a result and results without a call do not either.
 *
 * @throws ProvostError `invalid-filter` for what is no descriptor; `filter-refused` where `require` is not met;
 *   `summary-unwritten` for a summary that has no text yet
 *
 * @example
 * applyFilter(filters.lastUser(), session.messages)
 */
export function applyFilter(filter: FilterDescriptor, messages: readonly Message[]): readonly Message[] {
  return applied(checkFilter(filter), crossable(messages))
}

function applied(filter: FilterDescriptor, messages: readonly Message[]): readonly Message[] {
  switch (filter.kind) {
    case 'full':
    case 'stripReasoning':
      return messages
    case 'lastN':
      return filter.n === 0 ? [] : paired(messages.slice(-filter.n))
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

/** What may cross any boundary. */
function crossable(messages: readonly Message[]): readonly Message[] {
  const mine = messages.filter(({ role }) => role !== 'system')
  return paired(mapParts(mine, (part, _, { role }) => (role === 'user' ? part : withoutMeta(part))))
}

/** A part as another agent may have it: thoughts, and what only one provider can read, are the speaker's own. */
function withoutMeta(part: Part): Part | undefined {
  if (part.type === 'reasoning' || part.type === 'reasoning-file' || part.type === 'custom') return undefined
  if (!part.providerOptions) return part
  const { providerOptions: _, ...rest } = part
  return rest
}

/**
 * Messages with each part replaced or left out. One that loses all its parts is left out, one that keeps all stays the
 * object it is.
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

/** Undefined where nothing is left to say; what tells of an error says so without a word. */
function withContent(message: Message, content: readonly Part[]): Message | undefined {
  const { role, label } = message
  const silent = content.every((part) => part.type === 'text' && part.text === '')
  if (silent && role !== 'error' && role !== 'aborted') return undefined
  // A message of results is as its results are; all others keep the label that they were said under.
  const own = role === 'tool' ? joinLabels(...content.map((part) => partLabel(part, message))) : label
  const { partial: _, ...rest } = message
  const whole = content.length === 0 ? rest : message
  return deepFreeze({ ...whole, content, ...(own && { label: own }) })
}

/** A result is labelled by itself; everything else is at least what its message is. */
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

/** A history without some calls and their results. */
export function withoutCalls(messages: readonly Message[], callIds: ReadonlySet<string>): readonly Message[] {
  return mapParts(messages, (part) =>
    (part.type === 'tool-call' || part.type === 'tool-result') && callIds.has(part.callId) ? undefined : part,
  )
}

/** Calls with their results, and nothing that is only one of the two. */
function paired(messages: readonly Message[]): readonly Message[] {
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

/** The last stretch of user messages that stand next to each other: a provider takes them for one. */
function lastTurn(messages: readonly Message[]): readonly Message[] {
  const isTurn = ({ role, id }: Message): boolean => role === 'user' && !isNote(id)
  const end = messages.findLastIndex(isTurn)
  let start = end
  for (let i = end - 1; i >= 0; i--) {
    const before = messages[i]
    if (before?.role !== 'user') break
    if (isTurn(before)) start = i
  }
  return messages.slice(Math.max(start, 0), end + 1).filter(isTurn)
}

/** What the runtime says in the user's place: notes of handoffs, requests to repair, sayings, summaries. */
function isNote(id: string): boolean {
  return /\/(?:message\/(?:output|repair)|note|opening|summary|saying\/[^/]*|view\/[^/]*\/[^/]*\/\d+)$/.test(id)
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
  return paired(mapParts(messages, (part, label) => (rankOf(label.confidentiality) > most ? undefined : part)))
}

function rankOf(level: Confidentiality): number {
  return confidentialities.indexOf(level)
}

function refused(level: Confidentiality): ProvostError {
  return new ProvostError('filter-refused', `Something in the history is more than ${level}, and may not cross.`, {
    hint: 'Let the target have less with bySensitivity({ keep }), or answer without handing over.',
  })
}

function withheld(part: ToolResultPart): ToolResultPart {
  const { callId, toolCallId, toolName } = part
  const output = { type: 'text', value: 'This result is secret and was withheld.' } as const
  return { type: 'tool-result', callId, toolCallId, toolName, output, label: trustedLabel }
}

/** One message in place of all: it says whose words it is, and is labelled as all that it tells of. */
function summarised(text: string | undefined, messages: readonly Message[]): readonly Message[] {
  if (text === undefined) {
    throw new ProvostError('summary-unwritten', 'This summary has no text yet: a model writes it at the handoff.', {
      hint: 'Apply the descriptor that the handoff entry of the log holds.',
    })
  }
  const last = messages.at(-1)
  if (!last) return messages
  const said = `Summary of the conversation so far, written by a model, not by the user:\n${text}`
  return [
    deepFreeze({
      id: `${last.id}/summary`,
      role: 'user',
      content: [{ type: 'text', text: said }],
      label: joinLabels(...messages.map(labelOf)),
      createdAt: last.createdAt,
    }),
  ]
}
