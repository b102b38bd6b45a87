import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const prefix = 'provost-test-'

/** Gives the tests a folder of their own for temporary files: what they leave there goes when all of them have run. */
export default function setUp(): (() => void) | undefined {
  // Each project asks for one; the first one's is for all.
  if (basename(tmpdir()).startsWith(prefix)) return undefined
  const folder = mkdtempSync(join(tmpdir(), prefix))
  // A server that a test starts as another user passes through it.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = process.env['TEMP'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
