import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const prefix = 'provost-test-'

/** Where the machine keeps files in memory and has room for them, what tests force to the disk costs nothing. */
function roomiest(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize > 4 * 2 ** 30) return '/dev/shm'
  } catch {
    // There is no such place here.
  }
  return tmpdir()
}

/** Gives the tests a folder of their own for temporary files: what they leave there goes when all of them have run. */
export default function setUp(): (() => void) | undefined {
  // Each project asks for one; the first one's is for all.
  if (basename(tmpdir()).startsWith(prefix)) return undefined
  const folder = mkdtempSync(join(roomiest(), prefix))
  // A server that a test starts as another user passes through it.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = process.env['TEMP'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
