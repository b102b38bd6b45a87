import type { SessionStore } from 'provost'

/** Where inputs pass: a folder of their own, and the store that their sessions go to. */
export interface Place {
  /** Empty, and removed afterwards. */
  readonly folder: string
  readonly store: SessionStore
}

/** What a hostile payload is given to: a public function or a route, with what stands behind it. */
export interface Door<Payload> {
  readonly name: string
  /** A payload that passes. It runs before the first measurement, so that loading modules is not measured. */
  readonly benign: Payload
  /** @returns what became of it, in one line: a status, an error code, or both. */
  pass(payload: Payload, place: Place): Promise<string>
}

/** One hostile input. */
export interface HostileInput {
  /** `category/what`, unique. */
  readonly name: string
  readonly category: string
  readonly door: string
  /** Outcomes that hold. A door never hangs; a worse outcome than these is a fault. */
  readonly expect: readonly string[]
  /** The input stands in a store afterwards, so a second process opens the store. */
  readonly stored: boolean
  /** Makes the payload, outside of what is measured. */
  prepare(): Prepared
  /** Passes the benign payload of the door. */
  warmUp(place: Place): Promise<string>
}

/** A payload, ready to be given to its door. */
export interface Prepared {
  /** Of the payload as JSON, roughly. */
  readonly bytes: number
  pass(place: Place): Promise<string>
}

/** Rows of one table: what it is, its payload, and the outcomes that hold. */
export type Rows<Payload> = Readonly<Record<string, readonly [make: () => Payload, ...expect: string[]]>>

/**
 * Makes inputs of a table.
 *
 * @param options.stored whether the door writes to the store of its place.
 */
export function hostileInputs<Payload>(
  category: string,
  door: Door<Payload>,
  rows: Rows<Payload>,
  { stored = false }: { stored?: boolean } = {},
): readonly HostileInput[] {
  return Object.entries(rows).map(([what, [make, ...expect]]) => ({
    name: `${category}/${what}`,
    category,
    door: door.name,
    expect,
    stored,
    prepare() {
      const payload = make()
      return { bytes: bytesOf(payload), pass: (place) => door.pass(payload, place) }
    },
    warmUp: (place) => door.pass(door.benign, place),
  }))
}

/** Without recursion: a payload may be nested deeper than the stack. */
function bytesOf(payload: unknown): number {
  let bytes = 0
  const left = [payload]
  while (left.length > 0) {
    const one = left.pop()
    if (typeof one === 'string') bytes += Buffer.byteLength(one)
    else if (one instanceof Uint8Array) bytes += one.byteLength
    else if (Array.isArray(one)) for (const item of one) left.push(item)
    else if (typeof one === 'object' && one !== null && !(one instanceof Error))
      for (const [key, value] of entriesOf(one)) left.push(key, value)
    else bytes += String(one).length + 1
  }
  return bytes
}

/** Those that can be read. */
function entriesOf(value: object): readonly (readonly [string, unknown])[] {
  try {
    return Object.entries(value)
  } catch {
    return []
  }
}

/** Whether an outcome is one of those that hold: `failed *` stands for every outcome that begins with `failed `. */
export function holds(outcome: string, expect: readonly string[]): boolean {
  return expect.some((one) => (one.endsWith('*') ? outcome.startsWith(one.slice(0, -1)) : outcome === one))
}

/** What a thrown value is called: its `code`, or its name. */
export function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return 'thrown'
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code
  if ('kind' in thrown && typeof thrown.kind === 'string') return thrown.kind
  return thrown instanceof Error ? thrown.name : 'thrown'
}
