import { spawn } from 'node:child_process'

const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
/** A package manager. */
export type Manager = (typeof managers)[number]

/** The package manager that started this program, which names itself in `npm_config_user_agent`. Default `npm`. */
export function managerOf(env: NodeJS.ProcessEnv): Manager {
  const [name] = (env['npm_config_user_agent'] ?? '').split('/')
  return managers.find((manager) => manager === name) ?? 'npm'
}

/** Installs the dependencies of a project. Its output goes to stderr. @returns whether it succeeded. */
export async function install(manager: Manager, directory: string): Promise<boolean> {
  // On Windows, package managers are scripts of the shell. The arguments are fixed.
  const shell = process.platform === 'win32'
  const child = spawn(manager, ['install'], { cwd: directory, shell, stdio: ['ignore', 2, 2] })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0))
  })
}
