import { spawn } from 'node:child_process'

import type { Manager } from './manager.ts'

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
