import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { onTestFinished } from 'vitest'

/** A new folder with these files, gone after the test. Its path is real. */
export async function folder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'provost-tools-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const made = new Set([root])
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name)
    const above = path.dirname(file)
    if (!made.has(above)) mkdirSync(above, { recursive: true })
    made.add(above)
    // Some have a thousand files: one after another costs a fraction of what waiting for each does.
    writeFileSync(file, content)
  }
  return root
}
