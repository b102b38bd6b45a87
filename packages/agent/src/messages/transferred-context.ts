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

import type { SessionState } from '../types/session-state.ts'
import { applyFilter, withoutCalls } from './apply-filter.ts'

/** The code of an answer that did not come back. */
export const notReturned = 'handoff-denied'

/** What crosses a handoff. */
export interface TransferredContext {
  readonly messages: readonly Message[]
  readonly hash: string
  readonly label: Label
}

/**
 * What of a history crosses.
 *
 * @param calls of handoffs in the present step: what the caller asked for is not the target's.
 * @param rewritten by a hook, instead.
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

/** Of what was said by whom, under which label; not of when. */
export function hashMessages(messages: readonly Message[]): string {
  const said = messages.map(({ id, role, content, label }) => ({ id, role, content, label }))
  return hash('sha256', canonicalJson(toJson(said)))
}

/** The view as the results of the step will leave it, while calls of it are still open. */
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

/** The calls of handoffs that an entry tells of. */
export function handoffCalls({
  callId,
  others = [],
}: Pick<EntryOf<'handoff'>, 'callId' | 'others'>): ReadonlySet<string> {
  return new Set(callId === undefined ? others : [callId, ...others])
}

/** What the target begins with: what crossed, with a word of the user's in front where a provider needs one. */
export function openingView(entry: EntryOf<'handoff'>, view: readonly Message[]): readonly Message[] {
  return opened(crossed(entry, view), entry)
}

/** Messages with a word of the user's in front, where a provider needs one. */
export function opened(messages: readonly Message[], entry: Pick<Entry, 'id' | 'at'>): readonly Message[] {
  const first = messages.find(({ role }) => role === 'user' || role === 'assistant' || role === 'tool')
  return !first || first.role === 'user' ? messages : [opening(entry), ...messages]
}

function crossed(entry: EntryOf<'handoff'>, view: readonly Message[]): readonly Message[] {
  try {
    return transferContext(view, handoffCalls(entry), entry.filter, entry.with).messages
  } catch {
    // A log from elsewhere may tell of a boundary that nothing could cross: then nothing does.
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
  })
}
