import { lstat, readlink, realpath } from 'node:fs/promises'
import path from 'node:path'

import { ProvostError } from '@provost/core'

/** Turns the paths that tools name into real paths inside one folder, and refuses every other. */
export interface Confinement {
  /**
   * Returns the real path of an existing entry, with all links resolved.
   *
   * @throws ProvostError `path-invalid`, `path-outside`, `file-not-found`.
   */
  existing(name: string): Promise<string>
  /**
   * Returns the real path at which a file may be written; its folders need not exist yet.
   *
   * @throws ProvostError `path-invalid`, `path-outside`, `not-a-folder`.
   */
  writable(name: string): Promise<string>
  /**
   * Checks the real location of an open file or folder, which detects a link that was inserted after the path check.
   * Without `/proc` the path is checked again.
   *
   * @throws ProvostError `path-outside`.
   */
  opened(fd: number, name: string): Promise<void>
}

/** Longer names are refused before the file system sees them. */
const maxPathLength = 4096

/** The functions of a file system that resolve paths. Both reject like `node:fs`, with a `code`. */
export interface PathFacts {
  realpath(at: string): Promise<string>
  isLink(at: string): Promise<boolean>
}

const nodeFacts: PathFacts = {
  realpath,
  isLink: (at) => lstat(at).then((stats) => stats.isSymbolicLink()),
}

/**
 * @param root the folder, absolute; it may be a link itself.
 * @param facts of the file system it is in; default: this machine's.
 */
export function confineTo(root: string, facts: PathFacts = nodeFacts): Confinement {
  const realOf = (at: string, name: string): Promise<string> =>
    facts.realpath(at).catch((error: unknown) => {
      throw fileError(error, name)
    })
  let known: string | undefined
  const realRoot = async (): Promise<string> => (known ??= await realOf(root, root))

  return {
    async existing(name) {
      const at = lexical(root, name, await realRoot())
      return inside(await realRoot(), await realOf(at, name), name)
    },

    async writable(name) {
      const base = await realRoot()
      const missing: string[] = []
      let at = lexical(root, name, base)
      // The check goes up to the deepest existing folder: its real path decides, and below it there are no links yet.
      for (;;) {
        const real = await facts.realpath(at).catch((error: unknown) => {
          if (codeOf(error) === 'ENOENT') return undefined
          throw fileError(error, name)
        })
        if (real !== undefined) return path.join(inside(base, real, name), ...missing)
        if (await facts.isLink(at).catch(() => false)) throw outside(name, 'A link on the way points to nothing')
        missing.unshift(path.basename(at))
        at = path.dirname(at)
      }
    },

    async opened(fd, name) {
      const base = await realRoot()
      const real = await readlink(`/proc/self/fd/${fd}`).catch(() => undefined)
      if (real !== undefined) inside(base, real, name)
      else inside(base, await realOf(lexical(root, name, base), name), name)
    },
  }
}

/** Returns the normalized path, checked before any access to the file system, so that nothing outside can be probed. */
function lexical(root: string, name: string, realRoot: string): string {
  if (name.includes('\0')) throw invalid(name, 'It contains a NUL character.')
  if (name.length > maxPathLength) throw invalid(name, `It is longer than ${maxPathLength} characters.`)
  if (name.split(/[/\\]/).includes('..')) throw invalid(name, 'It contains "..".')
  const at = path.resolve(root, name)
  if (!isWithin(root, at) && !isWithin(realRoot, at)) throw outside(name, 'It is absolute and names another folder')
  return at
}

function inside(realRoot: string, real: string, name: string): string {
  if (isWithin(realRoot, real)) return real
  throw outside(name, 'A link on the way leads out')
}

function isWithin(root: string, at: string): boolean {
  return at === root || at.startsWith(root.endsWith(path.sep) ? root : root + path.sep)
}

const pathHint = 'Give a path relative to the working directory, without "..".'

function invalid(name: string, why: string): ProvostError {
  return new ProvostError('path-invalid', `The path ${quote(name)} is refused. ${why}`, { hint: pathHint })
}

function outside(name: string, why: string): ProvostError {
  return new ProvostError('path-outside', `The path ${quote(name)} is outside the working directory. ${why}.`, {
    hint: pathHint,
  })
}

/**
 * Returns a file-system error that a model can act on. Messages name the requested path, never the real one.
 */
export function fileError(error: unknown, name: string): ProvostError {
  if (error instanceof ProvostError) return error
  const code = codeOf(error) ?? ''
  switch (code) {
    case 'ENOENT':
      return new ProvostError('file-not-found', `There is nothing at ${quote(name)}.`, {
        hint: 'Look for the right name with glob.',
      })
    case 'EISDIR':
      return new ProvostError('not-a-file', `${quote(name)} is a folder, not a file.`, { hint: 'Name a file in it.' })
    case 'ENOTDIR':
      return new ProvostError('not-a-folder', `A part of ${quote(name)} is a file, not a folder.`, {
        hint: 'Choose another path.',
      })
    case 'ELOOP':
      return new ProvostError('path-invalid', `The links of ${quote(name)} form a circle.`, { hint: pathHint })
    case 'ENAMETOOLONG':
      return invalid(name, 'A part of it is too long.')
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ProvostError('file-denied', `The system denies access to ${quote(name)}.`, {
        hint: 'Choose a path that may be read or written.',
      })
    case 'ENOSPC':
    case 'EDQUOT':
      return new ProvostError('disk-full', `There is no space left to write ${quote(name)}.`, {
        hint: 'Free some space first.',
      })
    default:
      return new ProvostError('file-failed', `Access to ${quote(name)} failed${code ? ` (${code})` : ''}.`, {
        cause: error,
      })
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns a name for a message: visible, one line, short. */
function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
}
