import type { Skill, Tool } from '@provost/core'
import { ProvostError } from '@provost/core'
import { tool } from '@provost/tools'

/** The catalogue of skills for the system prompt: names and occasions, no content. */
export function skillCatalogue(skills: readonly Skill[]): string {
  const rows = skills.map(({ name, when }) => `- ${name}: ${when}`)
  return ['Skills you can load with the load_skill tool when their occasion arises:', ...rows].join('\n')
}

/** The tool that loads a skill's content. */
export function skillTool(skills: readonly Skill[]): Tool {
  return tool({
    name: 'load_skill',
    description: 'Loads the full text of a skill from the catalogue.',
    input: {
      type: 'object',
      properties: { name: { type: 'string', enum: skills.map((skill) => skill.name) } },
      required: ['name'],
    },
    effect: 'read',
    returns: { integrity: 'trusted' },
    async execute(input: unknown) {
      const name = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined
      const skill = skills.find((one) => one.name === name)
      if (!skill) throw new ProvostError('unknown-skill', `There is no skill named ${String(name)}.`)
      return typeof skill.content === 'string' ? skill.content : skill.content()
    },
  })
}
