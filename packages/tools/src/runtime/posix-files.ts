import path from 'node:path'

import { ProvostError } from '@provost/core'
import type { Runtime, RuntimeFile } from '@provost/core'

import { confineTo, fileError } from './confine.ts'
import { maxFileBytes } from './disk.ts'

/** The entry at a path, without following links. */
export interface FileFacts {
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly bytes: number
}

/** A file system that is not this machine's. All paths are absolute; failures have the `code` of POSIX. */
export interface PosixFiles {
  realpath(at: string): Promise<string>
  facts(at: string): Promise<FileFacts>
  read(at: string): Promise<Uint8Array>
  write(at: string, data: Uint8Array): Promise<void>
  makeFolder(at: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(at: string): Promise<void>
  /** Returns the entries of a folder, in any order. */
  entries(at: string): Promise<readonly FolderEntry[]>
}

/** One name in a folder. */
export interface FolderEntry extends FileFacts {
  readonly name: string
}

/** Files below one folder of such a file system, confined like those of this machine. */
export function createPosixFiles(root: string, files: PosixFiles): Pick<Runtime, 'readFile' | 'writeFile' | 'list'> {
  const confinement = confineTo(root, {
    realpath: (at) => files.realpath(at),
    isLink: async (at) => (await files.facts(at)).kind === 'link',
  })
  let written = 0

  /** Lists a folder. A link counts as its target file. A link to a folder is omitted, so that a walk ends. */
  const row = async ({ name, kind, bytes }: FolderEntry, folder: string): Promise<RuntimeFile | undefined> => {
    if (kind === 'directory') return { name, kind, bytes: 0 }
    if (kind !== 'link') return kind === 'file' ? { name, kind, bytes } : undefined
    try {
      const file = await files.facts(await confinement.existing(path.posix.join(folder, name)))
      return file.kind === 'file' ? { name, kind: 'file', bytes: file.bytes } : undefined
    } catch {
      return undefined
    }
  }

  return {
    async readFile(name) {
      const real = await confinement.existing(name)
      try {
        const { kind, bytes } = await files.facts(real)
        if (kind !== 'file') throw notFile(name)
        if (bytes > maxFileBytes)
          throw new ProvostError('file-too-large', `${JSON.stringify(name)} has ${bytes} bytes.`, {
            hint: `Files up to ${maxFileBytes} bytes can be read; use a command to see a part of it.`,
          })
        return await files.read(real)
      } catch (error) {
        throw fileError(error, name)
      }
    },

    async writeFile(name, data) {
      const real = await confinement.writable(name)
      try {
        const there = await files.facts(real).catch(() => undefined)
        if (there && there.kind !== 'file') throw notFile(name)
        const folder = path.posix.dirname(real)
        await files.makeFolder(folder)
        const temporary = path.posix.join(folder, `.provost-${process.pid}-${Date.now()}-${written++}.tmp`)
        try {
          await files.write(temporary, typeof data === 'string' ? new TextEncoder().encode(data) : data)
          await files.rename(temporary, real)
        } catch (error) {
          await files.remove(temporary).catch(() => undefined)
          throw error
        }
      } catch (error) {
        throw fileError(error, name)
      }
    },

    async list(name) {
      const real = await confinement.existing(name)
      try {
        if ((await files.facts(real)).kind !== 'directory')
          throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' })
        const listed: RuntimeFile[] = []
        for (const entry of await files.entries(real)) {
          const one = await row(entry, name)
          if (one) listed.push(one)
        }
        return listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      } catch (error) {
        throw fileError(error, name)
      }
    },
  }
}

function notFile(name: string): ProvostError {
  return new ProvostError('not-a-file', `${JSON.stringify(name)} is not a file.`, { hint: 'Name a file.' })
}
