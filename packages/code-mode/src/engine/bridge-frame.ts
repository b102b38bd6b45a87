/**
 * Frames that script and host exchange, one string each way. One string is the cheapest message, and no text is escaped
 * twice: JSON contains no line break. A guest writes one line per call: the index of the tool, a comma and the
 * arguments. The line before the calls is {@link headOf}; the value of a finished script follows them. A frame to the
 * guest is a line of JSON with the lengths of the texts, then the texts.
 */

/** A call that a script makes. */
export interface GuestCall {
  readonly id: number
  /** Index of the tool in the list that the run received. */
  readonly tool: number
  readonly args: string
}

/** How a script ended, as the guest reports it. */
export type GuestEnd =
  | { readonly kind: 'ok'; readonly json: string }
  | { readonly kind: 'limit'; readonly code: string; readonly message: string }
  | {
      readonly kind: 'thrown'
      readonly code: string
      readonly message: string
      readonly name: string
      readonly stack: string
      /** It depends on untrusted data, as far as values are followed. */
      readonly isUntrusted: boolean
    }

/** What a script produced while it ran. */
export interface GuestFrame {
  readonly calls: readonly GuestCall[]
  readonly lines: readonly string[]
  /** Number of log lines dropped over the limit. */
  readonly dropped: number
  readonly end?: GuestEnd
}

/** The result of one call, on its way to the script. */
export interface Delivery {
  readonly id: number
  readonly ok: boolean
  /** JSON: the value, or `{ message, code, stop? }`. */
  readonly json: string
  /** The time that the script sees from then on, in epoch ms. */
  readonly at: number
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Cuts a text into pieces of the requested lengths. Throws a `RangeError` when the lengths do not match the text. */
function pieces(text: string, start: number): { take(length: unknown): string; done(): void } {
  let at = start
  return {
    take(length) {
      if (!isCount(length) || at + length > text.length) throw new RangeError('a frame is shorter than its lengths')
      at += length
      return text.slice(at - length, at)
    },
    done() {
      if (at !== text.length) throw new RangeError('a frame is longer than its lengths')
    },
  }
}

function split(text: string): { head: readonly unknown[]; body: ReturnType<typeof pieces> } {
  const line = text.indexOf('\n')
  if (line < 0) throw new RangeError('a frame has no header line')
  const head: unknown = JSON.parse(text.slice(0, line))
  if (!Array.isArray(head)) throw new RangeError('the header of a frame is not an array')
  return { head, body: pieces(text, line + 1) }
}

function endOf(end: unknown, value: () => string): GuestEnd | undefined {
  if (end === null) return undefined
  if (!Array.isArray(end)) throw new RangeError('the end of a frame is not an array')
  const [kind, ...rest] = end
  if (kind === 'ok') return { kind, json: value() }
  const texts = rest.map(String)
  const [code = '', message = '', name = '', stack = '', untrusted] = texts
  if (kind === 'limit') return { kind, code, message }
  if (kind === 'thrown') return { kind, code, message, name, stack, isUntrusted: untrusted === 'true' }
  throw new RangeError('a frame has an unknown end kind')
}

/** The header line of a frame: the number of calls so far, then the rest of the list. */
function headOf(text: string): { readonly count: number; readonly more: readonly unknown[]; readonly length: number } {
  const line = text.indexOf('\n')
  const length = line < 0 ? text.length : line
  const head: unknown = JSON.parse(text.slice(0, length))
  const [count, ...more]: readonly unknown[] = Array.isArray(head) ? head : [head, [], 0, null]
  if (!isCount(count)) throw new RangeError('the header of a frame has no call count')
  return { count, more, length }
}

/** Reads a frame that the guest wrote. The frame is untrusted: any other text throws a `RangeError` or `SyntaxError`. */
export function readGuestFrame(text: string): GuestFrame {
  const { count, more, length } = headOf(text)
  const [lines, dropped, ending] = more
  if (!Array.isArray(lines) || !isCount(dropped)) throw new RangeError('the header of a frame has the wrong shape')
  let stop = text.length
  const end = endOf(ending, () => {
    const last = text.lastIndexOf('\n')
    if (last < length) throw new RangeError('a frame has no value')
    stop = last
    return text.slice(last + 1)
  })
  const found: { tool: number; args: string }[] = []
  for (let at = length; at < stop;) {
    const comma = text.indexOf(',', at)
    const next = text.indexOf('\n', at + 1)
    const to = next < 0 ? stop : next
    const place = text.slice(at + 1, comma)
    const tool = Number(place)
    if (comma < 0 || comma >= to || !isCount(tool) || String(tool) !== place)
      throw new RangeError('a call in a frame has no tool index')
    found.push({ tool, args: text.slice(comma + 1, to) })
    at = to
  }
  const first = count - found.length + 1
  if (first < 1) throw new RangeError('a frame has more calls than its count')
  const calls = found.map(({ tool, args }, i): GuestCall => ({ id: first + i, tool, args }))
  return { calls, lines: lines.map(String), dropped, ...(end && { end }) }
}

/** Reads the number of calls and whether the script has ended, without splitting the frame. */
export function glanceAtFrame(text: string): { readonly calls: number; readonly ended: boolean } {
  const { count, more } = headOf(text)
  return { calls: count, ended: more[2] !== null }
}

/** Largest batch to a script, in characters, unless a single result is larger. A worker thread has little memory. */
const batchLength = 4 << 20

/** Splits results into batches: as many as fit into each, at least one. */
export function batchesOf(results: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const batches: Delivery[][] = []
  let left = 0
  for (const result of results) {
    left -= result.json.length
    if (left >= 0 && batches.length > 0) batches.at(-1)?.push(result)
    else {
      batches.push([result])
      left = batchLength - result.json.length
    }
  }
  return batches
}

export function writeDeliveries(deliveries: readonly Delivery[]): string {
  let head = ''
  let body = ''
  for (const { id, ok, json, at } of deliveries) {
    head += `${head === '' ? '' : ','}${id},${ok ? 1 : 0},${at},${json.length}`
    body += json
  }
  return `[${head}]\n${body}`
}

export function readDeliveries(text: string): Delivery[] {
  const { head, body } = split(text)
  const found: Delivery[] = []
  for (let i = 0; i + 3 < head.length; i += 4) {
    found.push({
      id: Number(head[i]),
      ok: head[i + 1] === 1,
      at: Number(head[i + 2]),
      json: body.take(head[i + 3]),
    })
  }
  body.done()
  return found
}
