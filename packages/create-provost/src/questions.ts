import type { Arguments } from './arguments.ts'
import type { ProviderName, TemplateName } from './choices.ts'
import { providers, templates } from './choices.ts'
import type { Answers } from './project.ts'

/** Answers of a user who presses return. */
export const defaults: Answers = { directory: 'my-agent', template: 'script', provider: 'none' }

/** Asks in the terminal for what the command line leaves open. @returns `undefined` if the user cancels. */
export async function ask(given: Arguments): Promise<Answers | undefined> {
  const { intro, isCancel, select, text } = await import('@clack/prompts')
  intro('A new Provost project')
  const directory =
    given.directory ??
    (await text({ message: 'Name of the folder?', defaultValue: defaults.directory, placeholder: defaults.directory }))
  if (isCancel(directory)) return undefined
  const template =
    given.template ??
    (await select<TemplateName>({
      message: 'Which template?',
      options: templates.map(({ name, hint }) => ({ value: name, hint })),
    }))
  if (isCancel(template)) return undefined
  const provider =
    given.provider ??
    (await select<ProviderName>({
      message: 'Which model provider?',
      options: providers.map(({ name, library }) => ({
        value: name,
        hint: library?.package ?? 'a scripted model, no key',
      })),
    }))
  if (isCancel(provider)) return undefined
  return { directory, template, provider }
}
