import type { Extension, Fold, HookContext, JsonSchema, Skill, Tool } from '@provost/core'
import { ProvostError, checkOptions, defineExtension, isRecord, skillKeys, toErrorInfo } from '@provost/core'

import { tool } from '../definition/tool.ts'

/** The limit for the text of a skill, in tokens. Longer results of functions are cut. */
const maxSkillTokens = 131_072

/**
 * Returns the extension that lists the skills of an agent in the system prompt, and has the tool that loads them.
 *
 * The catalogue has names and occasions only, so loading a skill does not change the prompt. The log records which
 * conditions hold in a run, so that a resumed run agrees. `createAgent` adds the extension for `skills`.
 *
 * @throws ProvostError `unknown-option`, `invalid-options`, `invalid-skill`, `duplicate-skill`
 */
export function skillCatalogue(agent: string, skills: readonly Skill[]): Extension {
  checkSkills(agent, skills)
  const fixed = skills.every((skill) => !isConditional(skill))
  const activeSkills = activeSkillsOf(agent)

  async function activeNames(ctx: HookContext): Promise<readonly string[]> {
    const known = ctx.fold(activeSkills)
    if (known?.runId === ctx.run.id) return known.names
    return ctx.memo(agent, () => namesThatHold(skills, ctx))
  }

  return defineExtension({
    name: extensionName,
    tools: [skillTool(skills, activeSkills)],
    hooks: {
      'run.start': fixed
        ? () => catalogueOf(skills)
        : async (ctx) => {
            const names = await activeNames(ctx)
            return catalogueOf(skills.filter((skill) => !isConditional(skill) || names.includes(skill.name)))
          },
    },
  })
}

const extensionName = 'skills'

/** Returns whether a run may lack the skill. */
function isConditional({ when }: Skill): boolean {
  return typeof when === 'function'
}

/** Rejects skills with invalid or duplicate names: they could be ambiguous or forge lines of the system prompt. */
function checkSkills(agent: string, skills: readonly Skill[]): void {
  const names = new Set<string>()
  for (const skill of skills) {
    checkOptions(skill, skillKeys, `a skill of agent ${agent}`)
    const problem = problemOf(skill)
    const { name } = skill
    if (problem !== undefined) {
      throw new ProvostError('invalid-skill', `Agent ${agent} has an invalid skill: ${shown(name)}.`, { hint: problem })
    }
    if (names.has(name)) {
      throw new ProvostError('duplicate-skill', `Agent ${agent} has two skills named ${name}.`, {
        hint: 'Rename one of them.',
      })
    }
    names.add(name)
  }
}

/** Returns what to do about a skill that is invalid. */
function problemOf({ name, when, description, content }: Skill): string | undefined {
  if (!/^[\w-]{1,64}$/.test(name)) return 'Give it a name of 1 to 64 letters, digits, _ and -.'
  if (typeof when === 'string' ? when.trim() === '' : typeof when !== 'function') {
    return 'Describe in `when` when to load it, or give a function that decides whether a run has it.'
  }
  if (description !== undefined && (typeof description !== 'string' || typeof when === 'string')) {
    return 'Describe the occasion once: as text in `when`, or in `description` where `when` is a function.'
  }
  return typeof content === 'string' || typeof content === 'function' ? undefined : 'Give its text as `content`.'
}

function shown(name: unknown): string {
  return typeof name === 'string' ? JSON.stringify(name).slice(0, 100) : typeof name
}

/** Returns the names of the skills whose condition holds. */
async function namesThatHold(skills: readonly Skill[], ctx: HookContext): Promise<readonly string[]> {
  const names: string[] = []
  for (const { name, when } of skills) {
    if (typeof when === 'string') continue
    const holds = await conditionOf(name, () => when(ctx))
    if (typeof holds !== 'boolean') {
      throw new ProvostError('invalid-answer', `"when" of skill ${name} returned a value of type ${typeof holds}.`, {
        hint: 'Return a boolean.',
      })
    }
    if (holds) names.push(name)
  }
  return names
}

/** @throws the error of a condition, with the name of its skill. */
async function conditionOf(name: string, holds: () => unknown): Promise<unknown> {
  try {
    return await holds()
  } catch (cause) {
    const { message } = toErrorInfo(cause)
    throw new ProvostError('hook-failed', `"when" of skill ${name} threw: ${message}`, { cause })
  }
}

/** The last run that decided on conditions, and the skills that it has. */
interface ActiveSkills {
  readonly runId: string
  readonly names: readonly string[]
}

function activeSkillsOf(agent: string): Fold<ActiveSkills | undefined> {
  return {
    key: `${extensionName}/${agent}`,
    initial: undefined,
    apply(known, entry) {
      if (entry.type !== 'memo' || !Array.isArray(entry.value)) return known
      const { key, runId, value } = entry
      // The second key is that of logs from before this was an extension.
      if (key !== `${runId}/${extensionName}/${agent}` && key !== `${runId}/${agent}/${extensionName}`) return known
      return { runId, names: value.filter((name) => typeof name === 'string') }
    },
  }
}

function catalogueOf(skills: readonly Skill[]): string | undefined {
  if (skills.length === 0) return undefined
  const rows = skills.map(({ name, when, description = '' }) => {
    const occasion = (typeof when === 'string' ? when : description).trim().replaceAll(/\s+/g, ' ')
    return occasion === '' ? `- ${name}` : `- ${name}: ${occasion}`
  })
  return ['Skills you can load with the load_skill tool when their occasion arises:', ...rows].join('\n')
}

/** Returns the tool that loads the content and the files of a skill. */
function skillTool(skills: readonly Skill[], activeSkills: ReturnType<typeof activeSkillsOf>): Tool {
  return tool({
    name: 'load_skill',
    description: 'Loads the full text of a skill from the catalogue.',
    input: inputOf(skills),
    effect: 'read',
    modelOnly: true,
    // Skills come from the developer, like the system prompt.
    returns: { integrity: 'trusted' },
    maxResultTokens: maxSkillTokens,
    async execute(input: unknown, ctx) {
      const { name, path } = isRecord(input) ? input : {}
      const skill = skills.find((one) => one.name === name)
      if (!skill || (isConditional(skill) && !ctx.fold(activeSkills)?.names.includes(skill.name)))
        throw new ProvostError('unknown-skill', `There is no skill named ${shown(name)}.`)
      return typeof path === 'string' ? fileOf(skill, path) : contentOf(skill)
    },
  })
}

function inputOf(skills: readonly Skill[]): JsonSchema {
  const path: JsonSchema = {
    type: 'string',
    description: 'One of the files that the skill named, instead of its text.',
  }
  return {
    type: 'object',
    properties: {
      // The schema is the same in every run, so it must not name a skill that a run lacks.
      name: { type: 'string', ...(!skills.some(isConditional) && { enum: skills.map((skill) => skill.name) }) },
      ...(skills.some((skill) => skill.read) && { path }),
    },
    required: ['name'],
  }
}

async function contentOf({ content, files = [] }: Skill): Promise<string> {
  const text = typeof content === 'string' ? content : await content()
  if (files.length === 0) return text
  const rows = files.map((file) => `- ${/[\p{Cc}\p{Zl}\p{Zp}]/u.test(file) ? JSON.stringify(file) : file}`)
  return `${text}\n\nFiles of this skill, each to be loaded with its path:\n${rows.join('\n')}`
}

async function fileOf({ name, read }: Skill, path: string): Promise<string> {
  if (read) return read(path)
  throw new ProvostError('unknown-skill-file', `The skill ${name} has no files.`, { hint: 'Load it without a path.' })
}
