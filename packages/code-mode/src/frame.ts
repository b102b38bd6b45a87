/**
 * What crosses between script and host, as one string each way: a line of JSON that says how long the texts are, then the
 * texts. One string is the cheapest message there is, and no text is escaped twice.
 */

/** A call that a script makes. */
export interface GuestCall {
  readonly id: number
  /** Which of the tools, by its place in the list that the run was given. */
  readonly tool: number
  readonly args: string
}

/** How a script ended, as the guest says it. */
export type GuestEnd =
  | { readonly kind: 'ok'; readonly json: string }
  | { readonly kind: 'limit'; readonly code: string; readonly message: string }
  | {
      readonly kind: 'thrown'
      readonly code: string
      readonly message: string
      readonly name: string
      readonly stack: string
    }

/** What a script said while it was allowed to run. */
export interface GuestFrame {
  readonly calls: readonly GuestCall[]
  readonly lines: readonly string[]
  /** Log lines that were too many. */
  readonly dropped: number
  readonly end?: GuestEnd
}

/** The result of one call, on its way to the script. */
export interface Delivery {
  readonly id: number
  readonly ok: boolean
  /** JSON: the value, or `{ message, code, stop? }`. */
  readonly json: string
  /** The time that the script sees from then on, epoch ms. */
  readonly at: number
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Cuts a text into pieces that are as long as was said; anything that does not come out even is refused. */
function pieces(text: string, start: number): { take(length: unknown): string; done(): void } {
  let at = start
  return {
    take(length) {
      if (!isCount(length) || at + length > text.length) throw new RangeError('a frame is shorter than it says')
      at += length
      return text.slice(at - length, at)
    },
    done() {
      if (at !== text.length) throw new RangeError('a frame is longer than it says')
    },
  }
}

function split(text: string): { head: readonly unknown[]; body: ReturnType<typeof pieces> } {
  const line = text.indexOf('\n')
  if (line < 0) throw new RangeError('a frame has no head')
  const head: unknown = JSON.parse(text.slice(0, line))
  if (!Array.isArray(head)) throw new RangeError('the head of a frame is no list')
  return { head, body: pieces(text, line + 1) }
}

function endOf(end: unknown, body: ReturnType<typeof pieces>): GuestEnd | undefined {
  if (end === null) return undefined
  if (!Array.isArray(end)) throw new RangeError('the end in a frame is no list')
  const [kind, ...rest] = end
  if (kind === 'ok') return { kind, json: body.take(rest[0]) }
  const texts = rest.map(String)
  const [code = '', message = '', name = '', stack = ''] = texts
  if (kind === 'limit') return { kind, code, message }
  if (kind === 'thrown') return { kind, code, message, name, stack }
  throw new RangeError('a frame ends in an unknown way')
}

/** Reads what a guest wrote. It is not trusted: what is not exactly a frame throws a `RangeError` or `SyntaxError`. */
export function readGuestFrame(text: string): GuestFrame {
  const { head, body } = split(text)
  const [flat, lines, dropped, end] = head
  if (!Array.isArray(flat) || flat.length % 2 !== 1 || !Array.isArray(lines) || !isCount(dropped)) {
    throw new RangeError('the head of a frame has the wrong shape')
  }
  const calls: GuestCall[] = []
  const first: unknown = flat[0]
  if (!isCount(first)) throw new RangeError('the calls in a frame have no number')
  for (let i = 1; i < flat.length; i += 2) {
    const tool: unknown = flat[i]
    if (!isCount(tool)) throw new RangeError('a call in a frame has no tool')
    calls.push({ id: first + calls.length, tool, args: body.take(flat[i + 1]) })
  }
  const ended = endOf(end ?? null, body)
  body.done()
  return { calls, lines: lines.map(String), dropped, ...(ended && { end: ended }) }
}

/** The number of calls in a frame, and whether the script has ended, without cutting it up. */
export function glanceAtFrame(text: string): { readonly calls: number; readonly ended: boolean } {
  const head: unknown = JSON.parse(text.slice(0, text.indexOf('\n')))
  if (!Array.isArray(head) || !Array.isArray(head[0])) throw new RangeError('the head of a frame has the wrong shape')
  return { calls: (head[0].length - 1) / 2, ended: head[3] !== null }
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
