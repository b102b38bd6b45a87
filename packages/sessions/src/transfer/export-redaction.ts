import type { Entry, EntryOf, ErrorInfo, Json, Label, Message, Part, ToolOutput } from '@provost/core'
import { assertNever, fillLabel, isRecord, labelOf, toJson, untrustedLabel } from '@provost/core'

import { sanitizeAnnotations, sanitizeTrace } from '../history/annotations.ts'
import { createdIn, isCreated } from '../kit/created-entry.ts'

/** Redacts a log for readers outside the application. */
export interface ExportRedaction {
  /** Returns the visible entries of an entry, with consecutive offsets. */
  see(entry: Entry): readonly Entry[]
}

const withheld = '[withheld]'

/** Creates a redaction that keeps messages and results without internal traces. The cost of an entry depends only on its own size. */
export function createExportRedaction(): ExportRedaction {
  let offset = 0
  /** Answers that await a human's approval, by their tokens. */
  const held = new Map<string, EntryOf<'message'>>()
  const calls = new Set<string>()

  function seen(entry: Entry): Entry | undefined {
    const { id, at, runId, step, agent, v } = entry
    const place = { id, offset, at, runId, step, agent, v }
    switch (entry.type) {
      case 'run': {
        if (entry.op === 'started') {
          return {
            ...place,
            type: 'run',
            op: 'started',
            manifest: { agent: entry.manifest.agent, extensions: [], tools: [] },
          }
        }
        if (entry.op !== 'ended') return { ...place, type: 'run', op: entry.op }
        const error = entry.error && outsideError(entry.error)
        return { ...place, type: 'run', op: 'ended', status: entry.status, ...(error && { error }) }
      }
      case 'message': {
        const message = outsideMessage(entry.message)
        if (!message) return undefined
        for (const part of message.content) if (part.type === 'tool-call') calls.add(part.callId)
        return { ...place, type: 'message', message, via: entry.via }
      }
      case 'call': {
        if (entry.op !== 'settled' || !calls.delete(entry.callId)) return undefined
        const { callId, outcome, via, output, label, fields, error } = entry
        const fullLabel = fillLabel(label, untrustedLabel('tool'))
        const open = isOpen(fullLabel) && Object.values(fields ?? {}).every((one) => isOpen(fillLabel(one, fullLabel)))
        return {
          ...place,
          type: 'call',
          op: 'settled',
          callId,
          outcome,
          via,
          output: open ? outsideOutput(output) : { type: 'text', value: withheld },
          label: fullLabel,
          ...(error && { error: outsideError(error, open) }),
          durationMs: 0,
        }
      }
      case 'ext': {
        if (!isCreated(entry)) return undefined
        const data = { agent: createdIn(entry).agent }
        return { ...place, type: 'ext', name: entry.name, key: entry.key, data }
      }
      case 'attempt':
      case 'audit':
      case 'child':
      case 'handoff':
      case 'memo':
      case 'resolved':
      case 'tail':
      case 'view':
      case 'wait':
        return undefined
      default:
        return assertNever(entry)
    }
  }

  return {
    see(entry) {
      let now: Entry | undefined = entry
      if (entry.type === 'message' && entry.unsaid) return []
      if (entry.type === 'message' && entry.held !== undefined) {
        held.set(entry.held, entry)
        return []
      }
      if (entry.type === 'resolved') {
        const candidate = held.get(entry.token)
        held.delete(entry.token)
        now = isRecord(entry.value) && entry.value['decision'] === 'approve' ? candidate : undefined
      }
      offset++
      const visible = now && seen(now)
      if (!visible) offset--
      return visible ? [visible] : []
    },
  }
}

/** Returns the blobs of a redacted entry. */
export function blobsOf(entry: Entry): readonly string[] {
  const parts: readonly Part[] =
    entry.type === 'message'
      ? entry.message.content
      : entry.type === 'call' && entry.op === 'settled' && entry.output.type === 'content'
        ? entry.output.value
        : []
  return parts.flatMap((part) => (part.type === 'file' && part.data.type === 'blob' ? [part.data.hash] : []))
}

/** Whether readers outside the application may see a labelled value. */
function isOpen({ confidentiality, readers }: Label): boolean {
  return confidentiality !== 'secret' && readers === undefined
}

function outsideMessage(message: Message): Message | undefined {
  const { id, role, content, label, agent, createdAt, error, partial, purpose } = message
  // Prompts are internal, and only the application knows the purpose of custom roles.
  if (role === 'system' || role.startsWith('custom:')) return undefined
  const fullLabel = fillLabel(label, labelOf({ role, content: [] }))
  const open = isOpen(fullLabel)
  const parts = content.flatMap((part) => {
    const own = part.label && fillLabel(part.label, fullLabel)
    return outsidePart(part, role, open && (own === undefined || isOpen(own))) ?? []
  })
  if (role === 'assistant' && parts.length === 0) return undefined
  return {
    id,
    role,
    content: parts,
    ...(label && { label }),
    ...(agent !== undefined && { agent }),
    createdAt,
    ...(error && { error: outsideError(error, open) }),
    ...(partial && { partial }),
    ...(purpose && { purpose }),
  }
}

function outsidePart(part: Part, role: Message['role'], open: boolean): Part | undefined {
  const label = part.label && { label: part.label }
  switch (part.type) {
    case 'text': {
      if (!open) return { type: 'text', text: withheld, ...label }
      if (role === 'user') return { type: 'text', text: sanitizeTrace(part.text), ...label }
      const text = isCommentary(part.providerOptions) ? '' : sanitizeAnnotations(part.text)
      return text === '' ? undefined : { type: 'text', text, ...label }
    }
    case 'file': {
      if (!open) return { type: 'text', text: withheld, ...label }
      const { data, mediaType, filename } = part
      // A reference names an object of the provider.
      if (data.type === 'reference') return undefined
      return { type: 'file', data, mediaType, ...(filename !== undefined && { filename }), ...label }
    }
    case 'tool-call': {
      const { callId, toolName, input, providerExecuted } = part
      const shared = {
        type: 'tool-call',
        callId,
        toolCallId: '',
        toolName,
        ...(providerExecuted && { providerExecuted }),
      } as const
      return { ...shared, input: open ? outsideJson(input) : {}, ...label }
    }
    case 'tool-result': {
      const { callId, toolName, output, fields } = part
      const shown = open && Object.values(fields ?? {}).every((one) => isOpen(fillLabel(one, untrustedLabel('tool'))))
      const value: ToolOutput = shown ? outsideOutput(output) : { type: 'text', value: withheld }
      return { type: 'tool-result', callId, toolCallId: '', toolName, output: value, ...label }
    }
    case 'reasoning':
    case 'reasoning-file':
    case 'custom':
      return undefined
    default:
      return part satisfies never
  }
}

/** Whether the provider marks a text as commentary before the answer. */
function isCommentary(options: Part['providerOptions']): boolean {
  return Object.values(options ?? {}).some((one) => one['phase'] === 'commentary')
}

function outsideOutput(output: ToolOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: sanitizeTrace(output.value) }
    case 'json':
    case 'error-json':
      return { type: output.type, value: outsideJson(output.value) }
    case 'execution-denied':
      // The reason of a denial is internal.
      return { type: 'execution-denied' }
    case 'content': {
      const fullLabel = untrustedLabel('tool')
      const value = output.value.flatMap((part) => {
        const open = !part.label || isOpen(fillLabel(part.label, fullLabel))
        const shown = outsidePart(part, 'user', open)
        return shown?.type === 'text' || shown?.type === 'file' ? [shown] : []
      })
      return { type: 'content', value }
    }
    default:
      return output satisfies never
  }
}

/** Removes stack traces and names of secrets from strings, and from fields of errors. */
function outsideJson(value: Json): Json {
  return toJson(JSON.parse(JSON.stringify(value), reviveOutside))
}

function reviveOutside(this: unknown, key: string, value: unknown): unknown {
  if ((key === 'stack' || key === 'cause') && typeof value !== 'number') return undefined
  return typeof value === 'string' ? sanitizeTrace(value) : value
}

function outsideError({ code, message }: ErrorInfo, open = true): ErrorInfo {
  return { code, message: open ? sanitizeTrace(message) : withheld }
}
