import type { IFileSystem } from 'just-bash'

import type { KeptEntry } from './shell-task.ts'
import { mostKept } from './shell-task.ts'

/** Says what was changed in a file system of the interpreter. */
export interface FileChanges {
  /** Returns the changes since the last call; a number if there are too many. */
  since(): Promise<readonly KeptEntry[] | number>
  /** Brings back what was changed before. */
  restore(kept: readonly KeptEntry[]): Promise<void>
}

/** Watches a file system from the state that it is in. */
export async function fileChanges(fs: IFileSystem): Promise<FileChanges> {
  let known = await marksOf(fs)
  const first = new Set(known.keys())

  return {
    async since() {
      const now = await marksOf(fs)
      if (now.size > first.size + mostKept) return now.size
      const changed: KeptEntry[] = []
      for (const path of known.keys())
        if (!now.has(path)) changed.push({ path, kind: 'gone', fromStart: first.has(path) })
      // Parents precede their contents.
      for (const path of [...now.keys()].toSorted()) {
        if (known.get(path) !== now.get(path)) changed.push(await entryAt(fs, path))
      }
      known = now
      return changed
    },
    async restore(kept) {
      for (const entry of kept) await put(fs, entry)
      known = await marksOf(fs)
    },
  }
}

/** Returns an identity by path that changes with each write. */
async function marksOf(fs: IFileSystem): Promise<Map<string, string>> {
  const marks = new Map<string, string>()
  for (const path of fs.getAllPaths()) {
    const { isDirectory, isFile, identity = '', mode, mtime, size } = await fs.lstat(path)
    marks.set(path, `${isDirectory ? 'd' : isFile ? 'f' : 'l'} ${identity} ${mode} ${mtime.getTime()} ${size}`)
  }
  return marks
}

async function entryAt(fs: IFileSystem, path: string): Promise<KeptEntry> {
  const { isDirectory, isSymbolicLink, mode, mtime } = await fs.lstat(path)
  if (isSymbolicLink) return { path, kind: 'link', target: await fs.readlink(path) }
  if (isDirectory) return { path, kind: 'directory', mode, mtime: mtime.getTime() }
  const bytes = await fs.readFileBuffer(path)
  const data = new Uint8Array(new SharedArrayBuffer(bytes.length))
  data.set(bytes)
  return { path, kind: 'file', data, mode, mtime: mtime.getTime() }
}

async function put(fs: IFileSystem, entry: KeptEntry): Promise<void> {
  const { path } = entry
  if (entry.kind === 'gone') return fs.rm(path, { recursive: true, force: true })
  if (entry.kind === 'directory') {
    await fs.mkdir(path, { recursive: true })
    await fs.chmod(path, entry.mode)
    return fs.utimes(path, new Date(entry.mtime), new Date(entry.mtime))
  }
  await fs.rm(path, { recursive: true, force: true })
  if (entry.kind === 'link') return fs.symlink(entry.target, path)
  // A copy, since text decoders reject shared memory.
  await fs.writeFile(path, new Uint8Array(entry.data))
  await fs.chmod(path, entry.mode)
  return fs.utimes(path, new Date(entry.mtime), new Date(entry.mtime))
}
