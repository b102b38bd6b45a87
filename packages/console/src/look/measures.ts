/** Returns a duration with one or two units: `<1 ms`, `340 ms`, `1.2 s`, `4 min 33 s`, `2 d 3 h`. */
export function duration(ms: number): string {
  if (ms < 1) return '<1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const [big, bigUnit, small, smallUnit] =
    seconds < 3_600
      ? [Math.floor(seconds / 60), 'min', seconds % 60, 's']
      : seconds < 86_400
        ? [Math.floor(seconds / 3_600), 'h', Math.floor((seconds % 3_600) / 60), 'min']
        : [Math.floor(seconds / 86_400), 'd', Math.floor((seconds % 86_400) / 3_600), 'h']
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`
}

/** Returns an age in its largest unit: `4 min`. */
export function age(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

const numbers = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Returns a count with separators. */
export function count(value: number): string {
  return numbers.format(value)
}

/** Returns a count with its noun, which takes an s: `1 step`, `2 steps`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Returns a large count in few characters: `1.2K`. */
export function brief(value: number): string {
  return value < 10_000 ? numbers.format(value) : compact.format(value)
}

/** Returns a size: `340 B`, `1.2 kB`, `4 MB`. */
export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`
  const [value, unit] = size < 999_950 ? [size / 1_000, 'kB'] : [size / 1_000_000, 'MB']
  return `${value.toFixed(value < 10 ? 1 : 0).replace('.0', '')} ${unit}`
}

/** Returns US dollars. An unknown price is not a price of 0. */
export function dollars(cost: number, unpriced = false): string {
  if (unpriced && cost === 0) return 'unpriced'
  const text = cost === 0 ? '$0' : cost < 0.01 ? `$${cost.toPrecision(2)}` : `$${cost.toFixed(2)}`
  return unpriced ? `${text} and unpriced` : text
}

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function moment(at: number): string {
  return moments.format(at)
}
