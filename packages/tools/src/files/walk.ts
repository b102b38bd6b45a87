import type { Runtime } from '@provost/core'

/** A file met on a walk. */
export interface WalkedFile {
  /** Relative to the runtime's root, with slashes. */
  readonly path: string
  readonly bytes: number
}

/** What a walk may still look at; below zero it was cut short. */
export interface WalkBudget {
  entries: number
}

/** Entries, files and folders together, that one walk looks at. */
export const maxWalkEntries: number = 100_000

const maxDepth = 64
const skipped = new Set(['.git', 'node_modules'])

/**
 * All files under a folder, in the order of their names, without those in `.git` and `node_modules`. Folders that cannot
 * be read are passed over; the first one throws.
 *
 * @param start path of the folder for the runtime.
 */
export async function* walk(
  runtime: Runtime,
  start: string,
  budget: WalkBudget,
  depth = 0,
): AsyncGenerator<WalkedFile, void, undefined> {
  const listed = depth === 0 ? runtime.list(start) : runtime.list(start).catch(() => [])
  for (const entry of await listed) {
    if (--budget.entries < 0) return
    const path = start === '.' ? entry.name : `${start}/${entry.name}`
    if (entry.kind === 'file') yield { path, bytes: entry.bytes }
    else if (depth < maxDepth && !skipped.has(entry.name)) yield* walk(runtime, path, budget, depth + 1)
  }
}

/**
 * The files of a walk in bunches, each closed when it has so many files or would get so many bytes: what is done for a
 * bunch at once costs less than file by file.
 */
export async function* inBunches(
  files: AsyncIterable<WalkedFile>,
  most: { readonly files: number; readonly bytes: number },
): AsyncGenerator<readonly WalkedFile[], void, undefined> {
  let bunch: WalkedFile[] = []
  let bytes = 0
  for await (const file of files) {
    if (bunch.length === most.files || (bunch.length > 0 && bytes + file.bytes > most.bytes)) {
      yield bunch
      bunch = []
      bytes = 0
    }
    bunch.push(file)
    bytes += file.bytes
  }
  if (bunch.length > 0) yield bunch
}
