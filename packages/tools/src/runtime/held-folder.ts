import { constants } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'

import type { Confinement } from './confine.ts'

/** An open folder. It stays the checked one, whatever is renamed or linked in its place. */
export interface HeldFolder {
  /** The path for access to its entries, not its name. */
  readonly path: string
  close(): Promise<void>
}

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Opens a folder and judges it once it is open.
 *
 * @param real a checked path.
 * @param name the requested path, for messages.
 * @throws ProvostError `path-outside`; an error of the file system.
 */
export async function holdFolder(confinement: Confinement, real: string, name: string): Promise<HeldFolder> {
  const handle = await open(real, asFolder)
  try {
    await confinement.opened(handle.fd, name)
    return await held(handle, real)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Like {@link holdFolder}, but creates missing folders on the way, each inside a held one. */
export async function holdNewFolder(confinement: Confinement, real: string, name: string): Promise<HeldFolder> {
  const there = await holdFolder(confinement, real, name).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
  if (there) return there
  const parent = await holdNewFolder(confinement, path.dirname(real), name)
  try {
    const below = path.join(parent.path, path.basename(real))
    // Another process may have created it meanwhile: it is then checked like any other folder.
    await mkdir(below).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    })
    return await holdFolder(confinement, below, name)
  } finally {
    await parent.close()
  }
}

async function held(handle: FileHandle, real: string): Promise<HeldFolder> {
  const link = `/proc/self/fd/${handle.fd}`
  const reachable = await stat(link).catch(() => undefined)
  return { path: reachable ? link : real, close: () => handle.close() }
}
