import type { CallFlow, Json, JsonPointer, Label } from '@provost/core'
import { fillLabel, isRecord, joinLabels, untrustedLabel } from '@provost/core'

/** The label of a result, and of its fields where they differ. */
export interface ResultLabel {
  readonly label: Label
  readonly fields?: Readonly<Record<JsonPointer, Label>> | undefined
  /** The label of the arguments is not joined. */
  readonly endorses?: boolean | undefined
}

const strictest = fillLabel(
  { integrity: 'untrusted', confidentiality: 'secret', readers: [], sources: ['*'] },
  untrustedLabel('*'),
)

/** A label as the guest keeps it: a text that says all of it, and whether it is untrusted. */
function kindOf({ integrity, confidentiality, readers, sources }: Label): readonly [string, boolean] {
  return [JSON.stringify([integrity, confidentiality, readers ?? null, sources]), integrity !== 'trusted']
}

/** Writes a result for the guest: the value with its labels. */
export function writeLabelled(json: string, label: ResultLabel): string {
  return `[${json},${JSON.stringify(specOf(label))}]`
}

/** The label of a result as the guest receives it. */
export function specOf({ label, fields, endorses = false }: ResultLabel): Json {
  const [kind, bad] = kindOf(label)
  const rows = fields && Object.entries(fields).map(([at, one]): readonly [string, Json] => [at, [...kindOf(one)]])
  return [kind, bad, rows && rows.length > 0 ? Object.fromEntries(rows) : null, endorses]
}

/** Reads the origin `CALL:KIND`. The guest wrote it: anything else is the strictest label. */
function labelOf(origin: unknown): Label {
  if (typeof origin !== 'string') return strictest
  const kind = origin.slice(origin.indexOf(':') + 1)
  try {
    const parsed: unknown = JSON.parse(kind)
    if (!Array.isArray(parsed) || parsed.length !== 4) return strictest
    const [integrity, confidentiality, readers, sources] = parsed
    return fillLabel({ integrity, confidentiality, ...(readers !== null && { readers }), sources }, strictest)
  } catch {
    return strictest
  }
}

function joined(origins: unknown): Label {
  return Array.isArray(origins) ? joinLabels(...origins.map(labelOf)) : strictest
}

function callsOf(origins: unknown): readonly number[] {
  if (!Array.isArray(origins)) return []
  const calls = origins.map((origin) => Number.parseInt(String(origin), 10)).filter((call) => call > 0)
  return [...new Set(calls)].toSorted((a, b) => a - b)
}

/** Reads what the guest wrote of the origins of a value. */
export function flowOf(written: unknown): CallFlow {
  const { control, at, lines } = isRecord(written) ? written : {}
  const rows = Object.entries(isRecord(at) ? at : { '': null })
  return {
    control: joined(control),
    calls: callsOf(control),
    lines: Array.isArray(lines) ? lines.filter((line) => Number.isSafeInteger(line)).slice(0, 8) : [],
    at: Object.fromEntries(rows.map(([pointer, origins]) => [pointer, joined(origins)])),
    from: Object.fromEntries(rows.map(([pointer, origins]) => [pointer, callsOf(origins)])),
  }
}

/** Splits what the guest wrote, `[value, labels]`, into its texts. */
export function splitFollowed(parsed: Json): { readonly value: Json; readonly flow: CallFlow } {
  if (!Array.isArray(parsed) || parsed.length !== 2) throw new RangeError('a followed value has the wrong shape')
  return { value: parsed[0] ?? null, flow: flowOf(parsed[1]) }
}
