import { ProvostError } from '@provost/core'
import type { Runtime, RuntimeFile } from '@provost/core'
import type { Ignore } from 'ignore'

import { runPaced } from './deadline.ts'

/** The rules of one folder's ignore files, for all that is below it. */
export interface IgnoreRules {
  /** With a slash at its end; empty for the root. */
  readonly prefix: string
  readonly rules: Ignore
}

const names = ['.gitignore', '.ignore']
const maxRulesBytes = 256 * 1024

/** Returns the rules of a folder: those from above, and those of its own ignore files. */
export async function rulesIn(
  runtime: Runtime,
  folder: string,
  entries: readonly RuntimeFile[],
  above: readonly IgnoreRules[],
): Promise<readonly IgnoreRules[]> {
  const files = entries.filter((entry) => entry.kind === 'file' && names.includes(entry.name))
  const texts = await Promise.all(
    files
      .filter((file) => file.bytes <= maxRulesBytes)
      .map((file) => runtime.readFile(below(folder, file.name)).catch(() => new Uint8Array())),
  )
  if (texts.length === 0) return above
  const { default: createIgnore } = await import('ignore')
  const rules = createIgnore({ allowRelativePaths: true })
  for (const text of texts) rules.add(new TextDecoder().decode(text))
  return [...above, { prefix: folder === '.' ? '' : `${folder}/`, rules }]
}

/**
 * Returns the rules of the parent folders of the start. Rules that ignore the start are omitted, since it was named.
 */
export async function rulesAbove(runtime: Runtime, start: string): Promise<readonly IgnoreRules[]> {
  if (start === '.') return []
  const parts = start.split('/')
  let rules: readonly IgnoreRules[] = []
  for (let depth = 0; depth < parts.length; depth++) {
    const folder = parts.slice(0, depth).join('/') || '.'
    rules = await rulesIn(runtime, folder, await runtime.list(folder).catch(() => []), rules)
  }
  const all = rules
  return inTime(start, () => runPaced(all, (some) => some.filter((one) => !verdict(one, start, true).ignored)))
}

/**
 * Returns the entries of a folder that are searched, each with the rules below it. The deepest matching rule decides.
 *
 * @throws ProvostError `pattern-too-slow`.
 */
export async function keptBy(
  rules: readonly IgnoreRules[],
  folder: string,
  entries: readonly RuntimeFile[],
): Promise<readonly (readonly [RuntimeFile, readonly IgnoreRules[]])[]> {
  if (rules.length === 0) return entries.map((entry) => [entry, rules] as const)
  return inTime(folder, () => runPaced(entries, (some) => judged(rules, folder, some)))
}

async function inTime<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof ProvostError) || cause.code !== 'pattern-too-slow') throw cause
    throw new ProvostError('pattern-too-slow', `The ignore files for ${JSON.stringify(folder)} take too long.`, {
      hint: 'Search without them: set ignored to true.',
      cause,
    })
  }
}

function judged(
  rules: readonly IgnoreRules[],
  folder: string,
  entries: readonly RuntimeFile[],
): (readonly [RuntimeFile, readonly IgnoreRules[]])[] {
  const kept: (readonly [RuntimeFile, readonly IgnoreRules[]])[] = []
  for (const entry of entries) {
    const isFolder = entry.kind === 'directory'
    const verdicts = rules.map((one) => verdict(one, below(folder, entry.name), isFolder))
    const decisive = verdicts.findLast(({ ignored, unignored }) => ignored || unignored)
    if (decisive?.ignored) continue
    // A folder that a deeper rule includes again is not subject to the rules that ignored it.
    kept.push([entry, rules.filter((_, index) => !verdicts[index]?.ignored)])
  }
  return kept
}

function verdict({ prefix, rules }: IgnoreRules, path: string, isFolder: boolean): ReturnType<Ignore['test']> {
  return rules.test(path.slice(prefix.length) + (isFolder ? '/' : ''))
}

/** Returns the path of an entry in a folder. */
export function below(folder: string, name: string): string {
  return folder === '.' ? name : `${folder}/${name}`
}
