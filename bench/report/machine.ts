import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg, totalmem } from 'node:os'

/** Where figures were taken. No machine is named. */
export interface Machine {
  readonly cores: number
  readonly memoryGB: number
  readonly system: string
  readonly node: string
  readonly versions: Readonly<Record<string, string>>
}

/** When figures were taken, and beside what. */
export interface Conditions {
  readonly date: string
  /** Processes that wanted a core when the bench began, in the mean of a minute; those of benches before it are among them. */
  readonly load: number
  /** Whether that is more than a bench causes. */
  readonly loaded: boolean
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

export function describeConditions(now: Date): Conditions {
  const [load = 0] = loadavg()
  return {
    date: now.toISOString().slice(0, 10),
    load: Math.round(load * 10) / 10,
    loaded: load > Math.max(2, availableParallelism()),
  }
}

export function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    versions: {
      ...Object.fromEntries(packages.map((name) => [name, versionOf(name)] as const).filter(([, v]) => v !== '')),
      SQLite: process.versions['sqlite'] ?? '',
      V8: process.versions.v8,
    },
  }
}
