import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { Contender } from './contender.ts'

const folder = fileURLToPath(new URL('../peers', import.meta.url))

/**
 * The runtimes that nothing but this bench needs. They have a folder of their own, which its first use fills: they are
 * as much as everything else that is installed here.
 *
 * @throws Error where they cannot be installed.
 */
export async function loadPeers(): Promise<readonly Contender[]> {
  if (!existsSync(`${folder}/node_modules`)) {
    process.stderr.write(`Installing what is compared with into ${folder}, this once.\n`)
    const { status } = spawnSync('pnpm', ['install', '--dir', folder, '--frozen-lockfile', '--loglevel=warn'], {
      stdio: ['ignore', 2, 2],
    })
    if (status !== 0) throw new Error('The peers could not be installed. Try: pnpm install --dir bench/peers')
  }
  // By a name that no type checker follows: it is checked where they are installed.
  const load = (file: string): Promise<Record<string, Contender>> =>
    import(new URL(`../peers/${file}`, import.meta.url).href)
  const { openaiAgents } = await load('openai-agents.ts')
  const { pi } = await load('pi.ts')
  if (!openaiAgents || !pi) throw new Error('A peer exports no contender.')
  return [openaiAgents, pi]
}
