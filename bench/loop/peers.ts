import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { Contender } from './contender.ts'

const folder = fileURLToPath(new URL('../peers', import.meta.url))
const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))

/**
 * The runtimes that nothing but this bench needs. They have a folder of their own, which its first use fills: they are
 * as much as everything else that is installed here. Where they cannot be installed the others are compared without them.
 */
export async function loadPeers(): Promise<readonly Contender[]> {
  if (!install()) {
    process.stderr.write(
      'They could not be installed, and are left out. To try again: pnpm install --dir bench/peers\n',
    )
    return []
  }
  // By a name that no type checker follows: it is checked where they are installed.
  const load = (file: string): Promise<Record<string, Contender>> =>
    import(new URL(`../peers/${file}`, import.meta.url).href)
  const { openaiAgents } = await load('openai-agents.ts')
  const { pi } = await load('pi.ts')
  if (!openaiAgents || !pi) throw new Error('A peer exports no contender.')
  return [openaiAgents, pi]
}

/** @returns whether they are there. */
function install(): boolean {
  // What pnpm writes last.
  if (existsSync(`${folder}/node_modules/.modules.yaml`)) return true
  process.stderr.write('Installing the peers that are compared with into bench/peers, this once.\n')
  const pnpm = ['pnpm', 'install', '--dir', folder, '--frozen-lockfile', '--loglevel=warn']
  // With the pnpm of the project, which need not be on the PATH.
  return spawnSync(process.execPath, [runner, '--', ...pnpm], { stdio: ['ignore', 2, 2] }).status === 0
}
