import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

import { isRecord, ProvostError } from '@provost/core'

import type { McpFingerprints } from '../mcp-transport/mcp-options.ts'

/**
 * Keeps the fingerprints of one server in a JSON file: the first connection writes it, and later ones must match it. To
 * accept a change, copy the fingerprint from the error into the file, or delete the file.
 *
 * @throws ProvostError from `mcpTools`: `invalid-fingerprints` for a file with other content.
 *
 * @example
 * await mcpTools({ name: 'files', transport, accept: fingerprintFile('files.mcp.json') })
 */
export function fingerprintFile(path: string): McpFingerprints {
  async function read(): Promise<Readonly<Record<string, string>> | undefined> {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined
      throw error
    }
    return fingerprintsIn(text) ?? fail(path)
  }
  return {
    read,
    async write(fingerprints) {
      const sorted = Object.fromEntries(
        Object.entries(fingerprints).toSorted(([one], [other]) => (one < other ? -1 : 1)),
      )
      // Of two simultaneous first connections one writes, and both must match it.
      const whole = `${path}.${randomUUID()}`
      await writeFile(whole, `${JSON.stringify(sorted, null, 2)}\n`)
      try {
        await link(whole, path)
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error
      } finally {
        await rm(whole, { force: true })
      }
    },
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function fingerprintsIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isRecord(value)) return undefined
    const rows = Object.entries(value).flatMap(([name, one]) => (typeof one === 'string' ? [[name, one] as const] : []))
    return rows.length === Object.keys(value).length ? Object.fromEntries(rows) : undefined
  } catch {
    return undefined
  }
}

function fail(path: string): never {
  throw new ProvostError('invalid-fingerprints', `${path} does not contain fingerprints by tool name.`, {
    hint: 'Check the file. If you delete it, the next connection writes the current definitions.',
  })
}
