import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const prefix = 'provost-test-'

/** A memory file system with enough space, where tests that sync to disk cost nothing. */
function roomiest(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize > 4 * 2 ** 30) return '/dev/shm'
  } catch {
    // The folder does not exist on this machine.
  }
  return tmpdir()
}

/** Gives the tests a folder for temporary files, which is removed after all tests. */
export default function setUp(): (() => void) | undefined {
  // Each project requests one; all share the first.
  if (basename(tmpdir()).startsWith(prefix)) return undefined
  const folder = mkdtempSync(join(roomiest(), prefix))
  // A server that a test starts as another user needs access through the folder.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = process.env['TEMP'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
