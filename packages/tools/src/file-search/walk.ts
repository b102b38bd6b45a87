import type { Runtime } from '@provost/core'

import { below, keptBy, rulesAbove, rulesIn } from './ignore-rules.ts'
import type { IgnoreRules } from './ignore-rules.ts'

/** A file met on a walk. */
export interface WalkedFile {
  /** Relative to the runtime's root, with slashes. */
  readonly path: string
  readonly bytes: number
}

/** Entries that a walk may still visit. It is negative after the walk was cut short. */
export interface WalkBudget {
  entries: number
}

/** Entries, files and folders together, that one walk visits. */
export const maxWalkEntries: number = 100_000

/** Options of a walk. */
export interface WalkScope {
  /** Files and folders whose names begin with a dot. */
  readonly hidden: boolean
  /** Ignored files and `node_modules`. */
  readonly ignored: boolean
}

const maxDepth = 64

/**
 * Yields all files under a folder by name, like ripgrep: without hidden files, `node_modules`, and what `.gitignore`
 * and `.ignore` files exclude. `.git` is never entered. Unreadable folders are skipped; an unreadable start throws.
 *
 * @param start path of the folder for the runtime.
 */
export async function* walk(
  runtime: Runtime,
  start: string,
  scope: WalkScope,
  budget: WalkBudget,
): AsyncGenerator<WalkedFile, void, undefined> {
  const above = scope.ignored ? [] : await rulesAbove(runtime, start)
  yield* walkFrom(runtime, start, scope, budget, above, 0)
}

async function* walkFrom(
  runtime: Runtime,
  folder: string,
  scope: WalkScope,
  budget: WalkBudget,
  above: readonly IgnoreRules[],
  depth: number,
): AsyncGenerator<WalkedFile, void, undefined> {
  const entries = await (depth === 0 ? runtime.list(folder) : runtime.list(folder).catch(() => []))
  const rules = scope.ignored ? above : await rulesIn(runtime, folder, entries, above)
  for (const [entry, inner] of await keptBy(rules, folder, entries.filter(isWanted(scope)))) {
    if (--budget.entries < 0) return
    const path = below(folder, entry.name)
    if (entry.kind === 'file') yield { path, bytes: entry.bytes }
    else if (depth < maxDepth) yield* walkFrom(runtime, path, scope, budget, inner, depth + 1)
  }
}

function isWanted({ hidden, ignored }: WalkScope): (entry: { readonly name: string }) => boolean {
  return ({ name }) => name !== '.git' && (hidden || !name.startsWith('.')) && (ignored || name !== 'node_modules')
}

/**
 * Yields the files of a walk in batches, each limited by files and bytes. Work on a batch is cheaper than file by file.
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
