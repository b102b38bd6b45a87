import { createHash, timingSafeEqual } from 'node:crypto'

import type { Entry, KnownKeys, Lease, SessionStore } from '@provost/core'
import { canonicalJson, checkOptions, hostileKeyIn, isRecord, ProvostError, toJson, uuidv7 } from '@provost/core'

import { checkSessionId } from '../effects/session-id.ts'
import { isHash } from '../kit/blob-mentions.ts'
import { isEntry } from '../kit/entry-shape.ts'
import { invalidExport, shown } from '../kit/store-error.ts'
import { linesOf } from '../text/text-lines.ts'
import type { TextPieces } from '../text/text-lines.ts'
import type { ExportLine, Footer } from './export-line.ts'
import { checkKey, exportFormat, exportVersion, signatureOf } from './export-line.ts'
import type { LogImport } from './foreign-log.ts'
import { inert, renamed } from './foreign-log.ts'

/** Options of {@link importSession}. */
export interface ImportOptions {
  /** Id of the imported session; default its id in the export. */
  readonly id?: string
  /** Key that signed the export. Without a key or a signature, the import is untrusted. */
  readonly key?: string | Uint8Array
  /** Bytes of the text, which is held in memory until its checksum is verified. Default 256 MiB. */
  readonly maxBytes?: number
  /** Entries at most. Default 1,000,000. */
  readonly maxEntries?: number
}

/** The result of an import. */
export interface Imported {
  readonly sessionId: string
  readonly agent: string
  /** Number of entries in the session's own log. */
  readonly entries: number
  /** Whether its signature is valid; else all values are labelled untrusted. */
  readonly trusted: boolean
  /** Whether the session already existed with the same entries, so that nothing was written. */
  readonly existing: boolean
}

const defaultMaxBytes = 256 * 1024 * 1024
const defaultMaxEntries = 1_000_000
/** Depth of values at most: deeper ones overflow the stack when a store writes them. */
const maxDepth = 2_000
/** Keys of values from tools, models and extensions. */
const dataKeys: ReadonlySet<string> = new Set([
  'args',
  'input',
  'output',
  'value',
  'evidence',
  'details',
  'data',
  'fields',
  'providerOptions',
  'usage',
])
const leaseMs = 60_000

const optionKeys = {
  id: true,
  key: true,
  maxBytes: true,
  maxEntries: true,
} satisfies KnownKeys<ImportOptions>

/**
 * Imports an exported session into a store, all or nothing. It first checks the version, checksum, counts, entries and
 * blobs.
 *
 * With a valid signature the log is unchanged, and a suspended run can resume. Any other import is a record of messages.
 * It is labelled untrusted, has no principals, decisions, memos, extension data or system messages, and its run has
 * ended. A signed export for `outside` is such a record too, with its labels.
 *
 * @param lines text, in pieces split anywhere, or line by line.
 * @throws ProvostError `invalid-export`, `newer-export`, `bad-signature`, `export-too-big`, `session-exists` when another
 * session has the id, `session-busy`, `invalid-key`
 *
 * @example
 * const { sessionId } = await importSession(store, createReadStream('ann-17.jsonl'), { key })
 */
export async function importSession(
  store: SessionStore,
  lines: TextPieces,
  options: ImportOptions = {},
): Promise<Imported> {
  checkOptions(options, optionKeys, 'importSession')
  const { key } = options
  checkKey(key)
  const { header, logs, blobs, footer } = await readExport(lines, options)
  if (key !== undefined && footer.sig !== undefined && !isSigned(key, footer)) throw badSignature()
  const trusted = key !== undefined && footer.sig !== undefined
  const sessionId = checkSessionId(options.id ?? header.session)
  const unchanged = trusted && header.for === undefined
  // An unsigned export must not choose the names of other logs.
  const keepsNames = unchanged && sessionId === header.session
  const names = new Map<string, string>()
  for (const name of logs.keys()) {
    const child = keepsNames ? name : `${sessionId}/child/${names.size}`
    names.set(name, names.size === 0 ? sessionId : child)
  }
  const adoption: LogImport = { trusted, sessionId, from: header.session, names }
  const adopted = [...logs].map(([name, entries]) => {
    const here = renamed(entries, adoption)
    return { name: names.get(name) ?? sessionId, entries: unchanged ? here : inert(here, adoption) }
  })
  const existing = await writeAll(store, adopted, blobs)
  const entries = adopted[0]?.entries.length ?? 0
  return { sessionId, agent: header.agent, entries, trusted, existing }
}

interface Export {
  readonly header: Extract<ExportLine, { type: 'header' }>
  /** Logs by name; the session's own log is the first. */
  readonly logs: ReadonlyMap<string, readonly Entry[]>
  readonly blobs: readonly Uint8Array[]
  readonly footer: Footer
}

async function readExport(
  pieces: TextPieces,
  { maxBytes = defaultMaxBytes, maxEntries = defaultMaxEntries }: ImportOptions,
): Promise<Export> {
  const sum = createHash('sha256')
  const logs = new Map<string, Entry[]>()
  const children = new Set<string>()
  const blobs = new Map<string, Uint8Array>()
  let header: Export['header'] | undefined
  let log: Entry[] | undefined
  let ids = new Set<string>()
  let footer: Footer | undefined
  let entries = 0
  for await (const text of linesOf(pieces, maxBytes)) {
    if (text === '') continue
    if (footer) throw invalidExport('a line follows its footer')
    const line = parsed(text)
    if (!header) {
      header = headerOf(line)
    } else if (line['type'] === 'log') {
      const name = line['log']
      const known = typeof name === 'string' && (logs.size === 0 ? name === header.session : children.has(name))
      if (!known || logs.has(name)) throw invalidExport('it has a log of another session, or a log twice')
      logs.set(name, (log = []))
      ids = new Set()
    } else if (line['type'] === 'entry') {
      const { entry } = line
      if (++entries > maxEntries) throw tooMany(maxEntries)
      if (!log || !isEntry(entry)) throw invalidExport(`entry ${entries} is not a valid entry`)
      if (entry.offset !== log.length + 1 || ids.has(entry.id)) throw invalidExport(`entry ${entries} is out of place`)
      ids.add(entry.id)
      log.push(entry)
      if (entry.type === 'child') children.add(entry.log)
    } else if (line['type'] === 'blob') {
      const { hash, data } = line
      const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : undefined
      const own = bytes && createHash('sha256').update(bytes).digest('hex')
      if (typeof hash !== 'string' || !isHash(hash) || !bytes || own !== hash) throw invalidExport('a blob was changed')
      blobs.set(hash, bytes)
    } else {
      footer = footerOf(line)
    }
    if (!footer) sum.update(text).update('\n')
  }
  if (!header) throw invalidExport('it is empty')
  if (!footer) throw invalidExport('its footer is missing')
  if (footer.sha256 !== sum.digest('hex')) throw invalidExport('its checksum does not match')
  const counted = logs.size === footer.logs && entries === footer.entries && blobs.size === footer.blobs
  if (!counted || entries === 0) throw invalidExport('its counts differ from its footer')
  return { header, logs, blobs: [...blobs.values()], footer }
}

function parsed(text: string): Record<string, unknown> {
  if (!text.isWellFormed()) throw invalidExport('it is not well-formed Unicode')
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch (cause) {
    throw invalidExport('a line is not JSON', cause)
  }
  if (!isRecord(line)) throw invalidExport('a line is not an object')
  const hostile = hostileKeyIn(line, { data: dataKeys, maxDepth })
  if (hostile !== undefined) throw invalidExport(`it has ${hostile}`)
  return line
}

function headerOf({ type, format, v, session, agent, for: reader }: Record<string, unknown>): Export['header'] {
  if (type !== 'header' || format !== exportFormat || typeof v !== 'number') throw invalidExport('it has no header')
  if (v > exportVersion) {
    throw new ProvostError(
      'newer-export',
      `The exported session has version ${v}; this release reads up to ${exportVersion}.`,
      { hint: 'Import it with a newer release.' },
    )
  }
  if (v !== exportVersion || typeof session !== 'string' || session === '' || typeof agent !== 'string') {
    throw invalidExport('a field of its header is missing or invalid')
  }
  if (reader !== undefined && reader !== 'outside') throw invalidExport('the reader in its header is unknown')
  return { type, format, v, session, agent, ...(reader && { for: reader }) }
}

function footerOf({ type, logs, entries, blobs, sha256, sig, ...others }: Record<string, unknown>): Footer {
  if (
    // An unknown field may be a renamed signature: the footer was changed.
    Object.keys(others).length > 0 ||
    type !== 'footer' ||
    typeof logs !== 'number' ||
    typeof entries !== 'number' ||
    typeof blobs !== 'number' ||
    typeof sha256 !== 'string' ||
    (sig !== undefined && typeof sig !== 'string')
  ) {
    throw invalidExport('a line has an unknown type')
  }
  return { type, logs, entries, blobs, sha256, ...(sig !== undefined && { sig }) }
}

function isSigned(key: string | Uint8Array, footer: Footer): boolean {
  const [given, own] = [Buffer.from(footer.sig ?? ''), Buffer.from(signatureOf(key, footer))]
  return given.length === own.length && timingSafeEqual(given, own)
}

interface Adopted {
  readonly name: string
  readonly entries: readonly Entry[]
}

/**
 * Writes each log in one append, the session's own last: the session exists only with that log.
 *
 * @returns whether all logs existed before.
 */
async function writeAll(store: SessionStore, logs: readonly Adopted[], blobs: readonly Uint8Array[]): Promise<boolean> {
  const owner = uuidv7()
  const leases: { readonly name: string; readonly lease: Lease }[] = []
  try {
    const missing: (Adopted & { readonly fence: number })[] = []
    for (const { name, entries } of logs) {
      const lease = await store.lease(name, owner, leaseMs)
      if (lease === 'busy') throw busy(name)
      leases.push({ name, lease })
      if (!(await isThere(store, name, entries))) missing.push({ name, entries, fence: lease.fence })
    }
    for (const bytes of missing.length > 0 ? blobs : []) await store.putBlob(bytes)
    for (const { name, entries, fence } of missing.toReversed()) await store.append(name, entries, { after: 0, fence })
    return missing.length === 0
  } finally {
    for (const { name, lease } of leases) await store.release(name, lease.fence)
  }
}

/** Whether a log exists with the same entries. @throws ProvostError `session-exists` where its entries differ. */
async function isThere(store: SessionStore, name: string, entries: readonly Entry[]): Promise<boolean> {
  let count = 0
  for await (const stored of store.read(name)) {
    const entry = entries[count++]
    if (!entry || canonicalJson(toJson(entry)) !== canonicalJson(toJson(stored))) throw exists(name)
  }
  if (count > 0 && count < entries.length) throw exists(name)
  return count > 0
}

function exists(name: string): ProvostError {
  return new ProvostError('session-exists', `Session ${shown(name)} already exists with other entries.`, {
    hint: 'Pass another "id" for the imported session.',
  })
}

function busy(name: string): ProvostError {
  return new ProvostError('session-busy', `Another process writes session ${shown(name)}.`, { hint: 'Use another id.' })
}

function badSignature(): ProvostError {
  return new ProvostError('bad-signature', 'The signature of the exported session does not match the key.', {
    hint: 'Use the key of the export and its unchanged text. Without a key the import is untrusted.',
  })
}

function tooMany(maxEntries: number): ProvostError {
  return new ProvostError('export-too-big', `The exported session has more than ${maxEntries} entries.`, {
    hint: 'Raise maxEntries if you trust its source.',
  })
}
