import { hash } from 'node:crypto'

import type { CallFlow, Fold, Json, Label } from '@provost/core'
import { escapePointer, isRecord, joinLabels, toJson } from '@provost/core'

/** The key of the memo in which a script leaves the values that its model may not see. */
export const handleKey = 'untrusted-values'

/** A value that the model may not see, as the log keeps it. */
export interface HandledValue {
  readonly value: Json
  readonly label: Label
}

/** What a model sees of a value, and the values behind its handles. */
export interface ShownValue {
  readonly shown: Json
  readonly handles: Readonly<Record<string, HandledValue>>
}

/** How a handle looks in a text: `⟦value v-1f3a⟧`. */
function handleText(name: string): string {
  return `⟦value ${name}⟧`
}

/** Replaces each part of a value that depends on untrusted data by a handle. Handles are the same on every replay. */
export function withHandles(value: Json, flow: CallFlow, callId: string): ShownValue {
  const handles: Record<string, HandledValue> = {}
  const handle = (at: string, part: Json, label: Label): string => {
    const name = `v-${hash('sha256', `${callId}${at}`, 'hex').slice(0, 12)}`
    handles[name] = { value: part, label: joinLabels(label, flow.control) }
    return handleText(name)
  }
  const show = (part: Json | undefined, at: string): Json => {
    const label = flow.at[at]
    if (part === undefined) return null
    if (label && label.integrity !== 'trusted') return handle(at, part, below(flow, at))
    if (Array.isArray(part)) return part.map((item: Json, index) => show(item, `${at}/${index}`))
    if (!isRecord(part)) return part
    return Object.fromEntries(
      Object.entries(part).map(([key, item]) => [key, show(item, `${at}/${escapePointer(key)}`)]),
    )
  }
  if (flow.control.integrity !== 'trusted') return { shown: handle('', value, below(flow, '')), handles }
  return { shown: show(value, ''), handles }
}

/** The label of a part with everything in it. */
function below(flow: CallFlow, at: string): Label {
  const rows = Object.entries(flow.at).filter(([pointer]) => pointer === at || pointer.startsWith(`${at}/`))
  return joinLabels(...rows.map(([, label]) => label))
}

/** The values behind the handles of a session's scripts. */
export const handledValues: Fold<ReadonlyMap<string, HandledValue>> = {
  key: 'code-mode/handled-values',
  initial: new Map(),
  apply(known, entry) {
    if (entry.type !== 'memo' || !entry.key.endsWith(`/memo/${handleKey}`) || !isRecord(entry.value)) return known
    const next = new Map(known)
    for (const [name, row] of Object.entries(entry.value)) {
      if (isHandled(row)) next.set(name, row)
    }
    return next
  },
}

function isHandled(row: unknown): row is HandledValue {
  return isRecord(row) && 'value' in row && isRecord(row['label']) && Array.isArray(row['label']['sources'])
}

/** The memo that a script leaves. */
export function handleMemo(handles: ShownValue['handles']): Json {
  return toJson(handles)
}
