/** A part of the axis: time in which something happened, or a gap in which nothing did. */
export interface AxisPart {
  readonly from: number
  readonly to: number
  /** Where it is, from 0 to 1. */
  readonly start: number
  readonly end: number
  readonly isGap: boolean
}

/** Places times from 0 to 1. Long gaps, such as the night in which a human decides, take a fixed width. */
export interface Axis {
  readonly parts: readonly AxisPart[]
  /** Milliseconds of the parts that are no gaps. */
  readonly workMs: number
  place(at: number): number
  timeAt(place: number): number
}

const shortestGapMs = 1_000
const gapWidth = 0.16
/** Width of all gaps together at most. */
const gapsWidth = 0.4

/**
 * Makes an axis of the times in which something was done.
 *
 * @param work pairs of times, in any order.
 */
export function axisOf(work: readonly (readonly [from: number, to: number])[], from: number, to: number): Axis {
  const spans = merged(work, from, to)
  const busy = spans.reduce((sum, [start, end]) => sum + end - start, 0)
  const longest = Math.max(shortestGapMs, busy * 2)
  // Gaps that are short are drawn as they are.
  const blocks: [number, number][] = []
  for (const [start, end] of spans) {
    const last = blocks.at(-1)
    if (last && start - last[1] <= longest) last[1] = end
    else blocks.push([start, end])
  }
  const gaps = blocks.length - 1
  const width = gaps > 0 ? Math.min(gapWidth, gapsWidth / gaps) : 0
  const shown = Math.max(
    1,
    blocks.reduce((sum, [start, end]) => sum + end - start, 0),
  )
  const rest = 1 - width * gaps
  const parts: AxisPart[] = []
  let at = 0
  for (const [n, [start, end]] of blocks.entries()) {
    const before = blocks[n - 1]
    if (before) {
      parts.push({ from: before[1], to: start, start: at, end: at + width, isGap: true })
      at += width
    }
    const own = blocks.length === 1 ? 1 : ((end - start) / shown) * rest
    parts.push({ from: start, to: end, start: at, end: at + own, isGap: false })
    at += own
  }
  return {
    parts,
    workMs: busy,
    place: (time) =>
      within(
        partFor(parts, (part) => time <= part.to),
        time,
        ['from', 'to'],
        ['start', 'end'],
      ),
    timeAt: (place) =>
      within(
        partFor(parts, (part) => place <= part.end),
        place,
        ['start', 'end'],
        ['from', 'to'],
      ),
  }
}

type Side = 'from' | 'to' | 'start' | 'end'

function within(part: AxisPart | undefined, value: number, [a, b]: [Side, Side], [c, d]: [Side, Side]): number {
  if (!part) return 0
  const share = part[b] === part[a] ? 0 : (value - part[a]) / (part[b] - part[a])
  return part[c] + Math.min(1, Math.max(0, share)) * (part[d] - part[c])
}

/** Finds the first part that holds, by halves. */
function partFor(parts: readonly AxisPart[], holds: (part: AxisPart) => boolean): AxisPart | undefined {
  let [low, high] = [0, parts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    const part = parts[middle]
    if (part && holds(part)) high = middle
    else low = middle + 1
  }
  return parts[low]
}

function merged(work: readonly (readonly [number, number])[], from: number, to: number): [number, number][] {
  const sorted = [...work, [from, from] as const, [to, to] as const].toSorted((a, b) => a[0] - b[0])
  const spans: [number, number][] = []
  for (const [start, end] of sorted) {
    const last = spans.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else spans.push([start, Math.max(start, end)])
  }
  return spans
}

/** A mark of the axis: time since the begin without the gaps, or the length of a gap. */
export interface AxisMark {
  readonly place: number
  readonly ms: number
  readonly isGap: boolean
}

/** Returns marks for a window of the axis, at round times since the begin of the session. */
export function marksOf({ parts }: Axis, [left, right]: readonly [number, number], most: number): readonly AxisMark[] {
  const shown = parts.filter(({ start, end }) => end >= left && start <= right)
  const visibleMs = shown.reduce((sum, part) => {
    if (part.isGap || part.end === part.start) return sum
    const share = (Math.min(right, part.end) - Math.max(left, part.start)) / (part.end - part.start)
    return sum + share * (part.to - part.from)
  }, 0)
  const every = roundUp(Math.max(1, visibleMs / Math.max(1, most)))
  const marks: AxisMark[] = []
  const begin = parts[0]?.from ?? 0
  for (const part of shown) {
    if (part.isGap) {
      marks.push({ place: (part.start + part.end) / 2, ms: part.to - part.from, isGap: true })
      continue
    }
    const length = part.to - part.from
    const width = part.end - part.start
    const first = width === 0 ? 0 : Math.ceil((Math.max(0, left - part.start) / width) * (length / every))
    for (let n = first; n * every <= length && marks.length < most * 3; n++) {
      const place = part.start + (length === 0 ? 0 : (n * every) / length) * width
      if (place > right) break
      marks.push({ place, ms: part.from + n * every - begin, isGap: false })
    }
  }
  return marks
}

function roundUp(ms: number): number {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000]
  return steps.find((step) => step >= ms) ?? Math.ceil(ms / 3_600_000) * 3_600_000
}
