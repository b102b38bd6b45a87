import { readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

import type { Runtime, Skill } from '@provost/core'
import { ProvostError, toErrorInfo } from '@provost/core'

import { shownPath } from '../file-search/text.ts'
import { nodeRuntime } from '../runtime/runtime.ts'
import type { SkillText } from './front-matter.ts'
import { invalidSkill, parseSkill } from './front-matter.ts'

/** The largest file of a skill that is read, in bytes. */
const maxFileBytes = 262_144
const maxSkills = 200
/** Files beside a SKILL.md that are listed for the model, and the depth of the search for them. */
const maxFiles = 100
const maxDepth = 4

const skillFile = 'SKILL.md'

/**
 * Returns the skills of a folder: each subfolder with a SKILL.md, or the folder itself if it has one.
 *
 * A SKILL.md starts with YAML between two `---` lines: `name`, and `when` or `description`, which state when to load
 * it. The rest is its content, which is read on request of the model, as are the files beside it. Nothing outside the
 * folder of a skill is read, not even through links. A file has at most 256 KB, a folder at most 200 skills.
 *
 * @param dir relative to the working directory of the process, or absolute.
 * @throws ProvostError `invalid-skill` naming the file and the line; `duplicate-skill`.
 *
 * @example
 * const playbooks = defineExtension({ name: 'playbooks', skills: await loadSkills('./skills') })
 */
export async function loadSkills(dir: string): Promise<readonly Skill[]> {
  const root = await rootOf(dir)
  const own = await skillIn(root, path.join(dir, skillFile))
  if (own) return [own]
  const skills: Skill[] = []
  const files = new Map<string, string>()
  for (const name of await foldersIn(root, dir)) {
    const file = path.join(dir, name, skillFile)
    const skill = await skillIn(path.join(root, name), file)
    if (!skill) continue
    const other = files.get(skill.name)
    if (other !== undefined) {
      throw new ProvostError('duplicate-skill', `${other} and ${file} are both named ${skill.name}.`, {
        hint: 'Rename one of them.',
      })
    }
    if (skills.push(skill) > maxSkills) {
      throw invalidSkill(dir, `it holds more than ${maxSkills}`, 'Split the folder among agents.')
    }
    files.set(skill.name, file)
  }
  return skills
}

async function rootOf(dir: string): Promise<string> {
  try {
    const root = await realpath(dir)
    if ((await stat(root)).isDirectory()) return root
  } catch (cause) {
    throw invalidSkill(dir, 'there is nothing', 'Name the folder that holds the skills.', cause)
  }
  throw invalidSkill(dir, 'it is a file', 'Name the folder that holds the skills.')
}

/** Returns folders sorted by name, without hidden ones. */
async function foldersIn(root: string, dir: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true })
  const folders: string[] = []
  for (const entry of entries) {
    const { name } = entry
    if (name.startsWith('.')) continue
    if (entry.isDirectory()) folders.push(name)
    else if (entry.isSymbolicLink() && (await leadsOut(root, name))) {
      throw invalidSkill(path.join(dir, name), 'it is a link that leads out of the folder', 'Put a copy in its place.')
    }
  }
  return folders.toSorted()
}

async function leadsOut(root: string, name: string): Promise<boolean> {
  const real = await realpath(path.join(root, name)).catch(() => root)
  return real !== root && !real.startsWith(root + path.sep)
}

/** @param file names the SKILL.md in errors. */
async function skillIn(folder: string, file: string): Promise<Skill | undefined> {
  const runtime = nodeRuntime({ cwd: folder })
  const load = async (): Promise<SkillText> => parseSkill(await textOf(runtime, skillFile, file), file)
  let first: SkillText
  try {
    first = await load()
  } catch (error) {
    if (error instanceof ProvostError && error.code === 'file-not-found') return undefined
    throw error
  }
  const files = await filesIn(runtime)
  return {
    name: first.name,
    when: first.when,
    content: async () => (await load()).body,
    ...(files.length > 0 && { files, read: (name: string) => visible(runtime, name) }),
  }
}

/** Rejects hidden files, such as `.env`, which are not part of the skill. */
async function visible(runtime: Runtime, name: string): Promise<string> {
  if (name.split(/[/\\]/).some((part) => /^\.+[^./\\]/.test(part))) {
    throw new ProvostError('file-not-found', `The skill has no file ${JSON.stringify(name.slice(0, 200))}.`, {
      hint: 'Load one of the files that it names.',
    })
  }
  return textOf(runtime, name, name)
}

/** @throws ProvostError `file-not-found`, `invalid-skill` */
async function textOf(runtime: Runtime, name: string, file: string): Promise<string> {
  let bytes: Uint8Array
  try {
    bytes = await runtime.readFile(name)
  } catch (cause) {
    const { code, message } = toErrorInfo(cause)
    if (code === 'file-not-found') throw cause
    throw new ProvostError('invalid-skill', `${shownPath(file)} cannot be read. ${message}`, { cause })
  }
  if (bytes.length > maxFileBytes) {
    const hint = 'Keep what is always needed in SKILL.md, and the rest in files beside it.'
    throw new ProvostError(
      'invalid-skill',
      `${shownPath(file)} has ${bytes.length} bytes, more than ${maxFileBytes}.`,
      {
        hint,
      },
    )
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ProvostError('invalid-skill', `${shownPath(file)} is not text in UTF-8.`, { cause })
  }
}

/** Returns the relative paths of the files beside a SKILL.md. */
async function filesIn(runtime: Runtime): Promise<readonly string[]> {
  const files: string[] = []
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const { name, kind } of await runtime.list(folder || '.')) {
      if (files.length === maxFiles) return
      const at = folder ? `${folder}/${name}` : name
      if (name.startsWith('.') || at === skillFile) continue
      if (kind === 'file') files.push(at)
      else if (depth < maxDepth) await visit(at, depth + 1)
    }
  }
  await visit('', 1)
  return files
}
