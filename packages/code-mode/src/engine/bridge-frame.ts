/**
 * What crosses between script and host, as one string each way. One string is the cheapest message there is, and no text is
 * escaped twice: JSON has no end of a line in it, so a guest writes a line for each call, the place of the tool, a comma and
 * the arguments. The line before them is {@link headOf}, and behind them is the value of a script that has ended. What goes
 * to the guest's side is a line of JSON that says how long the texts are, then the texts.
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

function endOf(end: unknown, value: () => string): GuestEnd | undefined {
  if (end === null) return undefined
  if (!Array.isArray(end)) throw new RangeError('the end in a frame is no list')
  const [kind, ...rest] = end
  if (kind === 'ok') return { kind, json: value() }
  const texts = rest.map(String)
  const [code = '', message = '', name = '', stack = ''] = texts
  if (kind === 'limit') return { kind, code, message }
  if (kind === 'thrown') return { kind, code, message, name, stack }
  throw new RangeError('a frame ends in an unknown way')
}

/** The first line of a frame: how many calls there were up to here, and a list of that and what else there is. */
function headOf(text: string): { readonly count: number; readonly more: readonly unknown[]; readonly length: number } {
  const line = text.indexOf('\n')
  const length = line < 0 ? text.length : line
  const head: unknown = JSON.parse(text.slice(0, length))
  const [count, ...more]: readonly unknown[] = Array.isArray(head) ? head : [head, [], 0, null]
  if (!isCount(count)) throw new RangeError('the calls in a frame have no number')
  return { count, more, length }
}

/** Reads what a guest wrote. It is not trusted: what is not exactly a frame throws a `RangeError` or `SyntaxError`. */
export function readGuestFrame(text: string): GuestFrame {
  const { count, more, length } = headOf(text)
  const [lines, dropped, ending] = more
  if (!Array.isArray(lines) || !isCount(dropped)) throw new RangeError('the head of a frame has the wrong shape')
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
      throw new RangeError('a call in a frame has no tool')
    found.push({ tool, args: text.slice(comma + 1, to) })
    at = to
  }
  const first = count - found.length + 1
  if (first < 1) throw new RangeError('a frame has more calls than it says')
  const calls = found.map(({ tool, args }, i): GuestCall => ({ id: first + i, tool, args }))
  return { calls, lines: lines.map(String), dropped, ...(end && { end }) }
}

/** The number of calls up to this frame, and whether the script has ended, without cutting it up. */
export function glanceAtFrame(text: string): { readonly calls: number; readonly ended: boolean } {
  const { count, more } = headOf(text)
  return { calls: count, ended: more[2] !== null }
}

/** One letter to a script has no more characters than this, unless one result has: a thread has little memory for them. */
const letterLength = 4 << 20

/** Shares results out among letters: as many as fit into one, and one at least. */
export function lettersOf(results: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const letters: Delivery[][] = []
  let left = 0
  for (const result of results) {
    left -= result.json.length
    if (left >= 0 && letters.length > 0) letters.at(-1)?.push(result)
    else {
      letters.push([result])
      left = letterLength - result.json.length
    }
  }
  return letters
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
