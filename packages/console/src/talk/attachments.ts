import type { FilePart } from '@provost/core'

import { bytes } from '../look/measures.ts'

/** A file that waits to be sent. */
export interface Attached {
  readonly id: string
  readonly file: File
  readonly mediaType: string
}

/** What a message may carry. */
export interface AttachLimits {
  readonly files: number
  /** Bytes of one file, and of all files together. */
  readonly each: number
  readonly together: number
}

const mostFiles = 10
const mostEach = 5_000_000
/** Bytes of a request that are left for its text. */
const forText = 65_536

/** Returns what a message may carry where a request may have this many bytes. Files are sent as base64. */
export function attachLimits(requestBytes: number): AttachLimits {
  // Rounded down to two digits, as it is shown.
  const room = Math.max(0, Math.floor(((requestBytes - forText) * 3) / 4))
  const unit = 10 ** Math.max(0, String(room).length - 2)
  const together = Math.floor(room / unit) * unit
  return { files: mostFiles, together, each: Math.min(mostEach, together) }
}

export function limitsLine({ files, each, together }: AttachLimits): string {
  const sizes = each === together ? `${bytes(together)} together` : `${bytes(each)} each, ${bytes(together)} together`
  return `At most ${files} files, ${sizes}: images, PDF, audio and text.`
}

/** Types that models read. */
const types: readonly RegExp[] = [
  /^image\/(?:png|jpeg|gif|webp|avif)$/u,
  /^application\/(?:pdf|json|xml|yaml)$/u,
  /^audio\//u,
  /^text\//u,
]
/** Types of files for which browsers know none. */
const byEnding: Readonly<Record<string, string>> = {
  ...{ md: 'text/markdown', csv: 'text/csv', log: 'text/plain', txt: 'text/plain', eml: 'text/plain' },
  ...{ json: 'application/json', jsonl: 'text/plain', yaml: 'text/plain', yml: 'text/plain', toml: 'text/plain' },
  ...{ ts: 'text/plain', tsx: 'text/plain', py: 'text/plain', sql: 'text/plain', sh: 'text/plain' },
}

/** Adds files to those of a message. A file that a message cannot carry is named with the reason. */
export function attach(
  before: readonly Attached[],
  files: readonly File[],
  limits: AttachLimits,
): { readonly attached: readonly Attached[]; readonly problems: readonly string[] } {
  const attached = [...before]
  const problems: string[] = []
  for (const file of files) {
    const mediaType = typeOf(file)
    const size = attached.reduce((sum, one) => sum + one.file.size, file.size)
    const problem =
      file.size === 0
        ? 'is empty, or a folder'
        : mediaType === undefined
          ? `has the type ${file.type === '' ? 'unknown' : file.type}: models read images, PDF, audio and text`
          : file.size > limits.each
            ? `has ${bytes(file.size)}, more than ${bytes(limits.each)}`
            : attached.length === limits.files
              ? `would be more than ${limits.files} files`
              : size > limits.together
                ? `would make the files ${bytes(size)} together, more than ${bytes(limits.together)}`
                : undefined
    if (problem === undefined && mediaType !== undefined) attached.push({ id: crypto.randomUUID(), file, mediaType })
    else problems.push(`${file.name} ${problem}.`)
  }
  return { attached, problems }
}

function typeOf({ type, name }: File): string | undefined {
  const [given = ''] = type.split(';')
  if (types.some((one) => one.test(given))) return given
  // Some systems call each script and list a program.
  const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined
}

/** Returns files as parts of a message. @throws an error with a hint for a file that was changed or removed meanwhile */
export function partsOf(attached: readonly Attached[]): Promise<readonly FilePart[]> {
  return Promise.all(
    attached.map(async ({ file, mediaType }): Promise<FilePart> => {
      const data = await base64Of(file)
      return { type: 'file', mediaType, filename: file.name, data: { type: 'data', data } }
    }),
  )
}

function base64Of(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.addEventListener('load', () => {
    const address = typeof reader.result === 'string' ? reader.result : ''
    resolve(address.slice(address.indexOf(',') + 1))
  })
  reader.addEventListener('error', () => {
    const hint = 'It may have been changed or removed. Remove it here, and add it again.'
    reject(Object.assign(new Error(`${file.name} cannot be read.`), { code: 'unreadable-file', hint }))
  })
  reader.readAsDataURL(file)
  return promise
}

/** Returns the bytes of a file part; undefined where they are elsewhere. */
export function sizeOf({ data }: FilePart): number | undefined {
  switch (data.type) {
    case 'data':
      return Math.floor((data.data.replace(/=+$/u, '').length * 3) / 4)
    case 'blob':
      return data.bytes
    case 'text':
      return new Blob([data.text]).size
    default:
      return undefined
  }
}
