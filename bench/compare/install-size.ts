import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { findPackage, installed } from '../install/installed.ts'
import { installPeers } from '../loop/peers.ts'
import { exact, rowsOf } from '../report/row.ts'
import type { Bench } from '../report/row.ts'

const place = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const bench = place('..')
const peers = place('../peers')

interface Setup {
  readonly name: string
  readonly side: 'ours' | 'peer'
  readonly packages: readonly string[]
  readonly from: string
}

const provost: Setup = { name: 'provost', side: 'ours', packages: ['provost'], from: bench }
const ai: Setup = { name: 'ai', side: 'peer', packages: ['ai'], from: bench }
const others: readonly Setup[] = [
  { name: '@openai/agents', side: 'peer', packages: ['@openai/agents'], from: peers },
  { name: 'pi-agent-core', side: 'peer', packages: ['@earendil-works/pi-agent-core'], from: peers },
  { name: 'LangGraph.js', side: 'peer', packages: ['@langchain/langgraph', '@langchain/core'], from: peers },
  { name: 'Mastra', side: 'peer', packages: ['@mastra/core'], from: peers },
]

/** Bytes of the files of a package of this repository that are published. */
function publishedBytes(folder: string): number {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  })
  // A list of packages, or an object of them by name, as the version of npm has it.
  const [packed]: { unpackedSize?: number }[] = Object.values(JSON.parse(told))
  if (packed?.unpackedSize === undefined) throw new Error('npm pack told no size.')
  return packed.unpackedSize
}

export const installSize: Bench = {
  name: 'install-size',
  title: 'Install size',
  about:
    'Files of a package and of everything that npm installs with it, each once. Of Provost, what would be published. Provost, the AI SDK and LangGraph.js need the package of a provider beside it; pi, OpenAI Agents and Mastra bring theirs.',
  async run(plan) {
    const setups = plan.effort === 'quick' ? [ai] : [provost, ai, ...(installPeers() ? others : [])]
    const found = setups.map(({ name, side, packages, from }) => {
      const folders = packages.map((wanted) => {
        const folder = findPackage(wanted, from)
        if (folder === undefined) throw new Error(`${wanted} is not installed.`)
        return realpathSync(folder)
      })
      const own = side === 'ours' ? Object.fromEntries(folders.map((at) => [at, publishedBytes(at)])) : {}
      return { name, side, ...installed(folders, own) }
    })
    return [
      ...rowsOf(
        found.map(({ name, side, bytes }) => exact(name, side, bytes / 1e6)),
        { group: 'on the disk', unit: 'MB', baseline: ai.name },
      ),
      ...rowsOf(
        found.map(({ name, side, packages }) => exact(name, side, packages)),
        { group: 'packages', unit: 'packages', baseline: ai.name },
      ),
    ]
  },
}
