import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { Contender } from './contender.ts'

const folder = fileURLToPath(new URL('../peers', import.meta.url))
const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))

/** Where each contender is, by the name it is exported under. */
const files = {
  openaiAgents: 'openai-agents.ts',
  pi: 'pi.ts',
  langgraph: 'langgraph.ts',
  langgraphSqlite: 'langgraph.ts',
  mastra: 'mastra.ts',
  mastraLibsql: 'mastra.ts',
} as const
export type PeerName = keyof typeof files

/**
 * The runtimes that nothing but benches needs. They have a folder of their own, which its first use fills: they are
 * more than everything else that is installed here. Where they cannot be installed the others are compared without them.
 */
export async function loadPeers(names: readonly PeerName[] = ['openaiAgents', 'pi']): Promise<readonly Contender[]> {
  if (!installPeers()) return []
  return Promise.all(names.map(loadPeer))
}

/** Loads one peer. It has to be installed. */
export async function loadPeer(name: PeerName): Promise<Contender> {
  // By a name that no type checker follows: it is checked where they are installed.
  const loaded: Record<string, Contender> = await import(new URL(`../peers/${files[name]}`, import.meta.url).href)
  const contender = loaded[name]
  if (!contender) throw new Error(`bench/peers/${files[name]} exports no ${name}.`)
  return contender
}

/** @returns whether they are there. */
export function installPeers(): boolean {
  // What pnpm writes last.
  if (existsSync(`${folder}/node_modules/.modules.yaml`)) return true
  process.stderr.write('Installing the peers that are compared with into bench/peers, this once.\n')
  const pnpm = ['pnpm', 'install', '--dir', folder, '--frozen-lockfile', '--loglevel=warn']
  // With the pnpm of the project, which need not be on the PATH.
  if (spawnSync(process.execPath, [runner, '--', ...pnpm], { stdio: ['ignore', 2, 2] }).status === 0) return true
  process.stderr.write('They could not be installed, and are left out. To try again: pnpm install --dir bench/peers\n')
  return false
}
