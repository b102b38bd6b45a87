import type { Entry, EntryOf, Label, LabelInit, Message, Part } from '@provost/core'
import { fillLabel, isRecord, joinLabels, messageOfEntry, untrustedLabel } from '@provost/core'

import { createdBody, createdId, createdIn, isCreated } from '../kit/created-entry.ts'
import { invalidExport } from '../kit/store-error.ts'

/** How a log is imported. */
export interface LogImport {
  /** Whether a signature is valid. Without one, all values are labelled untrusted and no right is kept. */
  readonly trusted: boolean
  /** Id of the imported session, and `from`, its id in the export. */
  readonly sessionId: string
  readonly from: string
  /** New names of logs, by their names in the export. */
  readonly names: ReadonlyMap<string, string>
}

const outside: Label = untrustedLabel('import')

/** Returns the entries with their new names. */
export function renamed(entries: readonly Entry[], { sessionId, from, names }: LogImport): readonly Entry[] {
  if (sessionId === from && [...names].every(([old, name]) => old === name)) return entries
  return entries.map((entry): Entry => {
    if (entry.type === 'child') return { ...entry, log: names.get(entry.log) ?? `${sessionId}/gone` }
    if (entry.type === 'run' && entry.op === 'started' && entry.parent) {
      return { ...entry, parent: { ...entry.parent, log: names.get(entry.parent.log) ?? sessionId } }
    }
    // Under another name it is the log of a child: no worker runs it.
    if (entry.runId !== from && isCreated(entry) && createdIn(entry).part) return leftOut(entry)
    const claims = entry.type === 'ext' && entry.key === 'created' && entry.id === createdId(from)
    return claims ? { ...entry, id: createdId(sessionId), runId: sessionId } : entry
  })
}

/** Returns a mark that stands for an entry, so that offsets stay the same. */
function leftOut(entry: Entry): Entry {
  return { ...placeIn(entry), type: 'ext', name: 'provost', key: 'left-out', data: { type: entry.type } }
}

function placeIn({
  id,
  offset,
  at,
  runId,
  step,
  agent,
  v,
}: Entry): Omit<EntryOf<'ext'>, 'type' | 'name' | 'key' | 'data'> {
  return { id, offset, at, runId, step, agent, v }
}

/**
 * Returns a log as a mere record of messages, without rights or work to resume. It has no principals, grants, decisions,
 * memos, extension data, audit rows or system messages, and an active run has ended. A mark replaces each removed entry,
 * so that offsets stay the same.
 *
 * @throws ProvostError `invalid-export` for a history that providers reject
 */
export function inert(entries: readonly Entry[], { trusted, sessionId, from }: LogImport): readonly Entry[] {
  const approved = approvedTokens(entries)
  const open = new Set<string>()
  let running: Entry | undefined
  const kept = entries.map((entry): Entry => {
    const mark = leftOut(entry)
    switch (entry.type) {
      case 'run': {
        if (entry.op !== 'started') {
          if (entry.op === 'ended' && open.size > 0) throw openCall(open)
          running = entry.op === 'ended' ? undefined : running
          return entry
        }
        running = entry
        const { principal: _, grant: __, trace: ___, ...start } = entry
        return start
      }
      case 'message': {
        const { held, ...rest } = entry
        // A withheld answer enters the history only after its approval.
        if (entry.message.role === 'system' || (held !== undefined && !approved.has(held))) return mark
        follow(open, rest)
        const message = demoted(messageOfEntry(rest), trusted)
        // Only the runtime of this store speaks for itself.
        const via = !trusted && rest.via === 'system' ? 'input' : rest.via
        return { ...rest, message, via }
      }
      case 'view': {
        const messages = entry.with.filter(({ role }) => role !== 'system')
        return { ...entry, with: messages.map((message) => demoted(message, trusted)) }
      }
      case 'call': {
        if (entry.op !== 'settled') return entry
        open.delete(entry.callId)
        const { fields, ...rest } = entry
        const lower =
          fields && Object.fromEntries(Object.entries(fields).map(([at_, one]) => [at_, lowered(one, trusted)]))
        // Its effect, if it had one, is not to be undone from here.
        return { ...rest, via: 'import', label: lowered(entry.label, trusted), ...(lower && { fields: lower }) }
      }
      case 'child': {
        const { label } = entry
        if (entry.op === 'joined') return { ...entry, label: lowered(label, trusted) }
        const { grant: _, with: given, ...spawned } = entry
        const messages = given?.filter(({ role }) => role !== 'system').map((message) => demoted(message, trusted))
        return { ...spawned, label: lowered(label, trusted), ...(messages && { with: messages }) }
      }
      case 'tail': {
        const { with: _, ...tail } = entry
        return { ...tail, label: lowered(tail.label, trusted) }
      }
      case 'ext':
        if (!isCreated(entry) || (entry.runId !== sessionId && entry.runId !== from)) return mark
        return {
          ...placeIn(entry),
          ...createdBody({ agent: createdIn(entry).agent, repairs: createdIn(entry).repairs }),
        }
      case 'handoff': {
        const { label, with: crossed, ...rest } = entry
        const messages = crossed?.filter(({ role }) => role !== 'system').map((message) => demoted(message, trusted))
        return { ...rest, ...(label && { label: lowered(label, trusted) }), ...(messages && { with: messages }) }
      }
      case 'attempt':
        return entry
      case 'wait':
      case 'resolved':
      case 'memo':
      case 'audit':
        return mark
      default:
        return entry satisfies never
    }
  })
  if (open.size > 0 && !running) throw openCall(open)
  return running ? [...kept, ...closing(running, kept, open)] : kept
}

/** Checks that each call has one result before the next message. */
function follow(open: Set<string>, { message }: Pick<EntryOf<'message'>, 'message'>): void {
  for (const part of message.content) if (part.type === 'tool-result') open.delete(part.callId)
  if (open.size > 0) throw openCall(open)
  for (const part of message.content) if (part.type === 'tool-call' && !part.providerExecuted) open.add(part.callId)
}

function openCall(open: ReadonlySet<string>): Error {
  const [callId = ''] = open
  return invalidExport(`call ${callId.slice(0, 100)} has no result`)
}

function closing(running: Entry, kept: readonly Entry[], open: ReadonlySet<string>): readonly Entry[] {
  const last = kept.at(-1) ?? running
  const { runId, agent } = running
  let { offset } = last
  const place = (id: string) => ({ id, offset: ++offset, at: last.at, runId, step: last.step, agent, v: 1 }) as const
  const why = 'The run was not finished when its session was exported.'
  const settled = [...open].map((callId): Entry => {
    const body = { type: 'call', op: 'settled', callId, outcome: 'aborted', via: 'log' } as const
    const error = { code: 'tool-aborted', message: why }
    const output = { type: 'error-text', value: why } as const
    return { ...place(`${callId}/settled`), ...body, output, label: outside, error, durationMs: 0 }
  })
  return [...settled, { ...place(`${runId}/imported/ended`), type: 'run', op: 'ended', status: 'aborted' }]
}

function demoted(message: Message, trusted: boolean): Message {
  if (trusted) return message
  const content = message.content.map((part): Part => {
    const label = part.label && { label: lowered(part.label, trusted) }
    if (part.type !== 'tool-result' || !part.fields) return { ...part, ...label }
    const fields = Object.fromEntries(Object.entries(part.fields).map(([at, one]) => [at, lowered(one, trusted)]))
    return { ...part, ...label, fields }
  })
  return { ...message, content, label: lowered(message.label, trusted) }
}

function lowered(label: LabelInit | undefined, trusted: boolean): Label {
  const fullLabel = fillLabel(label, outside)
  return trusted ? fullLabel : joinLabels(fullLabel, outside)
}

function approvedTokens(entries: readonly Entry[]): ReadonlySet<string> {
  const approved = new Set<string>()
  for (const entry of entries) {
    if (entry.type === 'resolved' && isRecord(entry.value) && entry.value['decision'] === 'approve') {
      approved.add(entry.token)
    }
  }
  return approved
}
