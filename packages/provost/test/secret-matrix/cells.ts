/** Where secrets are planted. */
export const places = [
  ...[
    'input',
    'file-of-input',
    'utf16-file',
    'claims',
    'session-start',
    'model-text',
    'model-text-in-pieces',
    'reasoning',
  ],
  ...[
    'provider-options',
    'call-arguments',
    'result',
    'result-key',
    'label-sources',
    'field-sources',
    'details',
    'yaml-file',
  ],
  ...[
    'octets',
    'data-url',
    'progress',
    'progress-in-two',
    'yield-in-pieces',
    'yielded-values',
    'question',
    'question-schema',
  ],
  ...[
    'tool-error',
    'error-hint',
    'approval-reason',
    'approval-evidence',
    'remote-result',
    'approval-note',
    'model-error',
  ],
  ...[
    'child',
    'handoff-reason',
    'memory',
    'artifact',
    'blob',
    'audit-evidence',
    'audit-sources',
    'hook-data',
    'hook-event',
  ],
  ...['memo', 'memo-key', 'logged', 'logged-error', 'stderr'],
] as const

export type PlaceName = (typeof places)[number]

const hex = (text: string) => Array.from(Buffer.from(text), (byte) => byte.toString(16).padStart(2, '0'))
const each = (text: string, write: (code: number) => string) =>
  Array.from(text, (char) => write(char.charCodeAt(0))).join('')
/** What base64 makes of a text behind others, without the characters that those before or after it have a part in. */
const base64 = (text: string, before = '') =>
  Buffer.from(before + text)
    .toString('base64')
    .slice(Math.ceil((before.length * 8) / 6), Math.floor(((before.length + text.length) * 8) / 6))
const names: Readonly<Record<string, string>> = { '/': '&sol;', '+': '&plus;', '-': '&hyphen;' }

/** How they are written. */
export const writings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  upper: (text) => text.toUpperCase(),
  slashes: (text) => text.replaceAll('/', String.raw`\/`),
  'html-names': (text) => text.replaceAll(/[/+]/g, (char) => names[char] ?? char),
  'html-decimal': (text) => each(text, (code) => `&#${code};`),
  'html-zeros': (text) => each(text, (code) => `&#${String(code).padStart(6, '0')};`),
  'html-open': (text) => each(text, (code) => `&#${code}`),
  'html-hex': (text) => each(text, (code) => `&#x${code.toString(16)};`),
  'html-hex-upper': (text) => each(text, (code) => `&#X${code.toString(16).toUpperCase()}`),
  unicode: (text) => each(text, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  'unicode-upper': (text) => each(text, (code) => `\\u${code.toString(16).padStart(4, '0').toUpperCase()}`),
  'x-escapes': (text) => each(text, (code) => `\\x${code.toString(16)}`),
  percent: encodeURIComponent,
  'percent-all': (text) => each(text, (code) => `%${code.toString(16)}`),
  'percent-mixed': (text) => each(text, (code) => `%${code % 2 ? code.toString(16) : code.toString(16).toUpperCase()}`),
  'percent-twice': (text) => each(text, (code) => `%25${code.toString(16)}`),
  hex: (text) => hex(text).join(''),
  'hex-colons': (text) => hex(text).join(':'),
  'hex-colons-upper': (text) => hex(text).join(':').toUpperCase(),
  base64: (text) => base64(text),
  'base64-behind-one': (text) => base64(text, 'x'),
  'base64-behind-two': (text) => base64(text, 'xy'),
  base64url: (text) => base64(text).replaceAll('+', '-').replaceAll('/', '_'),
  'base64-twice': (text) => base64(base64(text)),
  'base64-twice-behind': (text) => base64(base64(text, 'x'), 'yz'),
}

/** One secret, in one place, in one writing. */
export interface Cell {
  readonly id: string
  readonly place: PlaceName
  readonly secret: string
  readonly written: string
}

/** The message of a model's error is cut. */
const fitting: Readonly<Partial<Record<PlaceName, number>>> = { 'model-error': 8 }

export const cells: readonly Cell[] = places.flatMap((place, row) =>
  Object.entries(writings)
    .slice(0, fitting[place])
    .map(([writing, write], column) => {
      const number = row * 100 + column
      const secret = `k${number}q/~~+${((number + 7) * 2_654_435_761).toString(36)}z>?`
      return { id: `${place} ${writing}`, place, secret, written: write(secret) }
    }),
)

/** All that is planted in a place. */
export function planted(place: PlaceName): readonly string[] {
  return cells.filter((cell) => cell.place === place).map(({ written }) => written)
}

export function plantedText(place: PlaceName): string {
  return planted(place).join(' | ')
}

/** However often something was written as JSON on its way. */
const plainly = (text: string) => text.replaceAll(/\\+/g, '\\')

/** The cells whose secret stands in some bytes as it was planted, also within files in base64. */
export function leaksIn(bytes: Buffer): readonly string[] {
  const text = bytes.toString('utf8')
  const files = [...text.matchAll(/[A-Za-z\d+/]{100,}={0,2}/g)].map(([run]) => Buffer.from(run, 'base64'))
  const all = [
    text,
    ...joinedIn(text),
    ...files.flatMap((file) => [file.toString('utf8'), file.toString('utf16le')]),
  ].map(plainly)
  return cells.filter(({ written }) => all.some((one) => one.includes(plainly(written)))).map(({ id }) => id)
}

/** What is said in pieces, as those have it who put the pieces together. */
function joinedIn(text: string): readonly string[] {
  const written = [/"delta":("(?:[^"\\]|\\.)*")/g, /"so":("(?:[^"\\]|\\.)*")/g, /"out":\[("(?:[^"\\]|\\.)*")\]/g]
  return written.map((pattern) =>
    [...text.matchAll(pattern)].map(([, piece = '""']) => String(JSON.parse(piece))).join(''),
  )
}
