import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { onTestFinished } from 'vitest'

/** Returns the real path of a new folder with these files, which is deleted after the test. */
export async function folder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'provost-tools-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const made = new Set([root])
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name)
    const above = path.dirname(file)
    if (!made.has(above)) mkdirSync(above, { recursive: true })
    made.add(above)
    // Some tests have a thousand files: synchronous writes are much faster.
    writeFileSync(file, content)
  }
  return root
}
