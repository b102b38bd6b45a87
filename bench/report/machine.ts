import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg, totalmem } from 'node:os'

/** Where and when figures were taken. No machine is named. */
export interface Machine {
  readonly date: string
  readonly cores: number
  readonly memoryGB: number
  readonly system: string
  readonly node: string
  /** Processes that wanted a core when the run began, in the mean of a minute. */
  readonly load: number
  /** Whether other programs had more than a quarter of the cores then. */
  readonly loaded: boolean
  readonly versions: Readonly<Record<string, string>>
}

const packages = [
  'ai',
  '@ai-sdk/otel',
  '@ai-sdk/code-mode',
  '@openai/agents',
  '@earendil-works/pi-agent-core',
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint-sqlite',
  '@mastra/core',
  '@mastra/libsql',
]

/** The version of a package that benches use, or an empty text where it is not installed. */
export function versionOf(name: string): string {
  const path = ['../node_modules', '../peers/node_modules']
    .map((folder) => new URL(`${folder}/${name}/package.json`, import.meta.url))
    .find((place) => existsSync(place))
  if (path === undefined) return ''
  const manifest: { version?: string } = JSON.parse(readFileSync(path, 'utf8'))
  return manifest.version ?? ''
}

export function describeMachine(now: Date): Machine {
  const [load = 0] = loadavg()
  const cores = availableParallelism()
  return {
    date: now.toISOString().slice(0, 10),
    cores,
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    load: Math.round(load * 10) / 10,
    loaded: load > cores / 4,
    versions: {
      ...Object.fromEntries(packages.map((name) => [name, versionOf(name)] as const).filter(([, v]) => v !== '')),
      SQLite: process.versions['sqlite'] ?? '',
      V8: process.versions.v8,
    },
  }
}
