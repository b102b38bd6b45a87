import type { Entry, EntryOf, Label, LabelInit, Message, Part } from '@provost/core'
import { assertNever, fillLabel, isRecord, labelOf, untrustedLabel } from '@provost/core'

/** Stands for a value that a reader without clearance may not see. */
export const withheld = '[withheld: secret]'

type Shown = object

/**
 * Returns an entry without secret values, for readers without clearance. Values labelled secret or for certain readers are
 * withheld, and so are values without a label, such as the arguments in a decision: they may repeat a secret.
 */
export function withholdEntry(entry: Entry): Shown {
  switch (entry.type) {
    case 'message':
      return { ...entry, message: withholdMessage(entry.message) }
    case 'call':
      return withholdCall(entry)
    case 'wait':
      return withholdWait(entry)
    case 'run':
      if (entry.op === 'started') return { ...entry, ...(entry.principal && { principal: { id: entry.principal.id } }) }
      if (entry.op !== 'ended') return entry
      return {
        ...entry,
        ...(entry.output !== undefined && { output: withheld }),
        ...(entry.error && { error: { code: entry.error.code, message: withheld } }),
      }
    case 'resolved': {
      const decision = isRecord(entry.value) ? entry.value['decision'] : undefined
      return { ...entry, value: typeof decision === 'string' ? { decision } : withheld }
    }
    case 'child':
      return withholdChild(entry)
    case 'handoff': {
      const { filter: _, with: __, ...rest } = entry
      return entry.label && isOpen(entry.label) ? entry : { ...rest, filter: withheld, ...(entry.with && { with: [] }) }
    }
    case 'view':
      return { ...entry, with: entry.with.map(withholdMessage) }
    case 'tail':
      return entry.with && !isOpen(entry.label) ? { ...entry, with: withheld } : entry
    case 'memo':
      return { ...entry, value: withheld }
    case 'ext':
      return { ...entry, data: withheld }
    case 'audit':
      return { ...entry, evidence: withheld }
    case 'attempt':
      return entry
    default:
      return assertNever(entry)
  }
}

/** Whether a reader without clearance may see values with this label. */
export function isOpen({ confidentiality, readers }: Label): boolean {
  return confidentiality !== 'secret' && readers === undefined
}

/** Returns a message without secret values. */
export function withholdMessage(message: Message): { readonly content: readonly Shown[] } {
  const { id, role, content, label, agent, createdAt, error, partial, purpose } = message
  const full = fillLabel(label, labelOf({ role, content: [] }))
  const open = isOpen(full)
  return {
    ...{ id, role, label, agent, createdAt, partial, purpose },
    content: content.map((part) =>
      isOpen(labelOfPart(part.label, full)) && open ? withholdInside(part, full) : hidden(part),
    ),
    ...(error && { error: open ? error : { code: error.code, message: withheld } }),
  }
}

function labelOfPart(label: LabelInit | undefined, full: Label): Label {
  return label ? fillLabel(label, full) : full
}

/** Withholds a result whose fields have stricter labels than the result. */
function withholdInside(part: Part, full: Label): Shown {
  if (part.type !== 'tool-result') return part
  const { output, fields = {} } = part
  const isWhole =
    Object.values(fields).every((label) => isOpen(fillLabel(label, full))) &&
    (output.type !== 'content' || output.value.every(({ label }) => !label || isOpen(fillLabel(label, full))))
  return isWhole ? part : hidden(part)
}

function hidden(part: Part): Shown {
  const { type, label } = part
  const kept = { type, ...(label && { label }) }
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { ...kept, text: withheld }
    case 'tool-call':
      return { ...kept, callId: part.callId, toolCallId: part.toolCallId, toolName: part.toolName, input: withheld }
    case 'tool-result':
      return {
        ...kept,
        ...{ callId: part.callId, toolCallId: part.toolCallId, toolName: part.toolName },
        output: { type: 'text', value: withheld },
      }
    case 'file':
    case 'reasoning-file':
    case 'custom':
      return { type: 'text', text: withheld, ...(label && { label }) }
    default:
      return assertNever(part)
  }
}

function withholdCall(entry: Extract<Entry, { type: 'call' }>): Shown {
  switch (entry.op) {
    case 'planned': {
      const { flow: _, ...rest } = entry
      return { ...rest, args: withheld }
    }
    case 'decided':
      return { ...entry, args: withheld, ...(entry.reason !== undefined && { reason: withheld }) }
    case 'settled': {
      const full = fillLabel(entry.label, untrustedLabel('tool'))
      const open = isOpen(full) && Object.values(entry.fields ?? {}).every((label) => isOpen(fillLabel(label, full)))
      const { details: _, value: __, output, error, ...rest } = entry
      const isWhole =
        open &&
        (output.type !== 'content' || output.value.every(({ label }) => !label || isOpen(fillLabel(label, full))))
      if (isWhole) return { ...rest, output, ...(error && { error }) }
      const hiddenError = error && { error: { code: error.code, message: withheld } }
      return { ...rest, output: { type: 'text', value: withheld }, ...hiddenError }
    }
    case 'deferred':
    case 'parked':
    case 'started':
      return entry
    default:
      return assertNever(entry)
  }
}

function withholdWait(entry: EntryOf<'wait'>): Shown {
  if (entry.about && isOpen(entry.about.label)) return entry
  const { evidence: _, reason, child, about, schema: __, ...rest } = entry
  return {
    ...rest,
    ...(reason !== undefined && { reason: withheld }),
    ...(child && { child: { ...child, input: withheld } }),
    ...(about && { about: { effect: about.effect, roles: about.roles, label: about.label } }),
  }
}

function withholdChild(entry: Extract<Entry, { type: 'child' }>): Shown {
  if (isOpen(entry.label)) return entry
  if (entry.op === 'joined') {
    return { ...entry, ...(entry.error && { error: { code: entry.error.code, message: withheld } }) }
  }
  const { filter: _, with: __, ...rest } = entry
  return rest
}
