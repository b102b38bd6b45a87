import { hash } from 'node:crypto'

import type { Entry, EntryOf, FilterDescriptor, Label, Message, ToolResultPart } from '@provost/core'
import {
  canonicalJson,
  deepFreeze,
  fillLabel,
  joinLabels,
  labelOf,
  positionId,
  toJson,
  trustedLabel,
  untrustedLabel,
} from '@provost/core'
import { applyFilter, withoutCalls } from '@provost/sessions'

import type { SessionState } from '../types/session-state.ts'

/** The error code of a return handoff without an answer. */
export const notReturned = 'handoff-denied'

/** What a handoff transfers. */
export interface TransferredContext {
  readonly messages: readonly Message[]
  readonly hash: string
  readonly label: Label
}

/**
 * Returns what a handoff transfers of a history.
 *
 * @param calls handoff calls of the current step, which are not transferred.
 * @param rewritten messages of a hook, which replace the filter's.
 * @throws ProvostError as {@link applyFilter} does
 */
export function transferContext(
  history: readonly Message[],
  calls: ReadonlySet<string>,
  filter: FilterDescriptor,
  rewritten?: readonly Message[],
): TransferredContext {
  const messages = rewritten ?? applyFilter(filter, withoutCalls(history, calls))
  return { messages, hash: hashMessages(messages), label: joinLabels(...messages.map(labelOf)) }
}

/** Returns a hash of the ids, roles, contents and labels of messages, without their times. */
export function hashMessages(messages: readonly Message[]): string {
  const hashed = messages.map(({ id, role, content, label }) => ({ id, role, content, label }))
  return hash('sha256', canonicalJson(toJson(hashed)))
}

/** Returns the view as the step's results will leave it, while some of its calls are still open. */
export function viewAtStep(state: SessionState): readonly Message[] {
  const { run, view } = state
  if (!run || run.openCalls === 0) return view
  const content = [...run.calls.values()].map(({ part, result }): ToolResultPart => {
    const { callId, toolCallId, toolName } = part
    const output = { type: 'text', value: '' } as const
    return result ?? { type: 'tool-result', callId, toolCallId, toolName, output, label: trustedLabel }
  })
  const label = joinLabels(...content.map((part) => fillLabel(part.label, untrustedLabel(part.toolName))))
  const id = positionId(run.id, run.step, 'message', 'tool')
  return [...view, { id, role: 'tool', content, label, createdAt: 0 }]
}

/** Returns what a handoff, or the input of a child, transfers of the state before its entry. */
export function transferOf(
  state: SessionState,
  entry: EntryOf<'handoff'> | EntryOf<'child', 'spawned'>,
): TransferredContext {
  return entry.type === 'handoff'
    ? transferContext(viewAtStep(state), handoffCalls(entry), entry.filter, entry.with)
    : transferContext(state.view, new Set(), entry.filter ?? { kind: 'full' }, entry.with)
}

/** Returns the calls of handoffs that an entry records. */
function handoffCalls({ callId, others = [] }: Pick<EntryOf<'handoff'>, 'callId' | 'others'>): ReadonlySet<string> {
  return new Set(callId === undefined ? others : [callId, ...others])
}

/** Returns the first view of the target: what was transferred, after a user message where a provider needs one. */
export function openingView(entry: EntryOf<'handoff'>, view: readonly Message[]): readonly Message[] {
  return opened(crossed(entry, view), entry)
}

/** Returns messages after a user message, where a provider needs one. */
export function opened(messages: readonly Message[], entry: Pick<Entry, 'id' | 'at'>): readonly Message[] {
  const first = messages.find(({ role }) => role === 'user' || role === 'assistant' || role === 'tool')
  return !first || first.role === 'user' ? messages : [opening(entry), ...messages]
}

function crossed(entry: EntryOf<'handoff'>, view: readonly Message[]): readonly Message[] {
  try {
    return transferContext(view, handoffCalls(entry), entry.filter, entry.with).messages
  } catch {
    // A log from elsewhere may record a transfer that is not possible: then nothing is transferred.
    return []
  }
}

function opening({ id, at }: Pick<Entry, 'id' | 'at'>): Message {
  return deepFreeze({
    id: `${id}/opening`,
    role: 'user',
    content: [{ type: 'text', text: 'What was said before is left out.' }],
    label: trustedLabel,
    createdAt: at,
    purpose: 'opening',
  })
}
