import { relative } from 'node:path'

import { ProvostError } from '@provost/core'

import { readArguments } from './arguments.ts'
import { templates } from './choices.ts'
import { install } from './install.ts'
import type { Manager } from './manager.ts'
import { managerOf, scriptCommand } from './manager.ts'
import type { CreatedProject } from './project.ts'
import { createProject } from './project.ts'
import { ask, defaults } from './questions.ts'

const out = (text: string): void => void process.stdout.write(text)
const err = (text: string): void => void process.stderr.write(text)

/** Runs the command. @returns its exit code: 0, 1 if the project cannot be created or installed, 2 for invalid arguments, 130 if cancelled. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const json = argv.includes('--json')
  try {
    return await create(argv)
  } catch (error) {
    if (!(error instanceof ProvostError)) throw error
    const { code, message, hint } = error
    if (json) out(`${JSON.stringify({ error: { code, message, hint } })}\n`)
    else err(`${message} ${hint ?? ''}\n`)
    return code === 'invalid-arguments' ? 2 : 1
  }
}

async function create(argv: readonly string[]): Promise<number> {
  const given = readArguments(argv)
  const interactive = process.stdin.isTTY && process.stdout.isTTY
  const { directory = defaults.directory, template = defaults.template, provider = defaults.provider } = given
  const complete = given.yes || (given.directory !== undefined && given.template !== undefined)
  if (!complete && (given.json || !interactive)) {
    throw new ProvostError(
      'invalid-arguments',
      'There is no terminal to ask in, and the name or the template is missing.',
      {
        hint: 'Give --name and --template, or --yes for the defaults.',
      },
    )
  }
  const answers = complete ? { directory, template, provider } : await ask(given)
  if (answers === undefined) {
    err('Cancelled. Nothing was created.\n')
    return 130
  }
  const manager = managerOf(process.env)
  const project = await createProject({ ...answers, manager })
  const installed = given.install && (await install(manager, project.directory))
  if (given.json) out(`${JSON.stringify({ ...project, manager, installed })}\n`)
  else out(nextSteps(project, manager, installed))
  if (!given.install || installed) return 0
  err(`${manager} install failed. The project is complete: repeat it there.\n`)
  return 1
}

function nextSteps({ directory, template }: CreatedProject, manager: Manager, installed: boolean): string {
  const folder = relative(process.cwd(), directory) || '.'
  const first = templates.find(({ name }) => name === template)?.first ?? 'start'
  const scripts = [first, 'test'].map((script) => scriptCommand(manager, script))
  const steps = [`cd ${folder}`, ...(installed ? [] : [`${manager} install`]), ...scripts]
  return `Created ${folder}. Next:\n\n${steps.map((step) => `  ${step}\n`).join('')}\nIts README.md explains the rest.\n`
}
