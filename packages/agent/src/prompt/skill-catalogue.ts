import type { Skill } from '@provost/core'

/**
 * Returns the catalogue of skills for the system prompt: names and occasions only. Loading a skill does not change it.
 */
export function skillCatalogue(skills: readonly Skill[]): string {
  const rows = skills.map(({ name, when }) => `- ${name}: ${when.trim().replaceAll(/\s+/g, ' ')}`)
  return ['Skills you can load with the load_skill tool when their occasion arises:', ...rows].join('\n')
}
