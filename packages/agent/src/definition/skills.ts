import type { JsonSchema, Skill, Tool } from '@provost/core'
import { ProvostError, isRecord } from '@provost/core'
import { tool } from '@provost/tools'

/** The limit for the text of a skill, in tokens. Longer results of functions are cut. */
const maxSkillTokens = 131_072

/**
 * Rejects skills with invalid or duplicate names: they could be ambiguous or forge lines of the system prompt.
 *
 * @throws ProvostError `invalid-skill`, `duplicate-skill`
 */
export function checkSkills(agent: string, skills: readonly Skill[]): void {
  const names = new Set<string>()
  for (const { name, when } of skills) {
    if (!/^[\w-]{1,64}$/.test(name) || typeof when !== 'string' || when.trim() === '') {
      throw new ProvostError('invalid-skill', `Agent ${agent} has an invalid skill: ${shown(name)}.`, {
        hint: 'Give it a name of 1 to 64 letters, digits, _ and -, and describe in `when` when to load it.',
      })
    }
    if (names.has(name)) {
      throw new ProvostError('duplicate-skill', `Agent ${agent} has two skills named ${name}.`, {
        hint: 'Rename one of them.',
      })
    }
    names.add(name)
  }
}

function shown(name: unknown): string {
  return typeof name === 'string' ? JSON.stringify(name).slice(0, 100) : typeof name
}

/** Returns the tool that loads the content and the files of a skill. */
export function skillTool(skills: readonly Skill[]): Tool {
  return tool({
    name: 'load_skill',
    description: 'Loads the full text of a skill from the catalogue.',
    input: inputOf(skills),
    effect: 'read',
    modelOnly: true,
    // Skills come from the developer, like the system prompt.
    returns: { integrity: 'trusted' },
    maxResultTokens: maxSkillTokens,
    async execute(input: unknown) {
      const { name, path } = isRecord(input) ? input : {}
      const skill = skills.find((one) => one.name === name)
      if (!skill) throw new ProvostError('unknown-skill', `There is no skill named ${shown(name)}.`)
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
      name: { type: 'string', enum: skills.map((skill) => skill.name) },
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
