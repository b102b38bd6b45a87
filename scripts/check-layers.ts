/**
 * node scripts/check-layers.ts
 *
 * Checks how the source files of each package lie in folders: a folder imports only from folders above it in the table
 * below, types included; a folder has at most 14 files, published entries aside; at most two files import each other. Only index.ts and the files
 * beside it may import from any folder.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import process from 'node:process'

/** The folders of each package's src, each below those that it may import from. */
const layers: Readonly<Record<string, readonly string[]>> = {
  core: [
    'values',
    'host',
    'text',
    'secrets',
    'messages',
    'tools',
    'log',
    'engine',
    'wire',
    'scrubbing',
    'hooks',
    'definitions',
  ],
  testing: ['store', 'process', 'model', 'engine', 'provider', 'conformance'],
  provider: ['models', 'errors', 'call', 'prompt'],
  sessions: [
    'kit',
    'wake',
    'summary',
    'effects',
    'text',
    'outage',
    'jsonl',
    'sqlite',
    'postgres',
    'history',
    'memory',
    'transfer',
    'retention',
  ],
  tools: [
    ...['definition', 'foreign-schema', 'ai-sdk', 'secrets', 'runtime', 'just-bash', 'file-search', 'files', 'web'],
    ...['mcp-transport', 'mcp', 'executor', 'results', 'skills', 'a2a', 'registry'],
  ],
  agent: [
    ...[
      'types',
      'control',
      'messages',
      'state',
      'tree',
      'question',
      'prompt',
      'operations',
      'reducers',
      'events',
      'entries',
    ],
    ...[
      'editing',
      'hooks',
      'definition',
      'result',
      'handoff',
      'inbox',
      'log',
      'progress',
      'effects',
      'tools',
      'model',
      'loop',
    ],
    ...['orchestrator', 'children', 'composite', 'run', 'session', 'standalone', 'compensation', 'agent'],
  ],
  governance: [
    'text',
    'wording',
    'taint',
    'provenance',
    'contracts',
    'guards',
    'evidence',
    'data-flow',
    'causality',
    'audit',
    'erasure',
    'offline',
  ],
  memory: ['items', 'store', 'compaction', 'recall'],
  telemetry: ['report', 'attributes', 'spans', 'extension', 'requests'],
  'code-mode': ['engine', 'flow', 'worker', 'sandbox', 'tool', 'planned'],
  server: [
    'options',
    'http',
    'stream',
    'engine',
    'sessions',
    'requests',
    'approvals',
    'api',
    'console-answers',
    'console-logs',
    'console',
    'console-memory',
    'turns',
    'chat',
    'responses',
    'completions',
    'ag-ui',
    'ui',
    'a2a',
    'mcp',
    'page',
    'server',
  ],
  client: ['chat'],
  console: [
    ...['keys', 'look', 'wire', 'frame', 'sessions', 'conversation', 'talk', 'inbox'],
    ...[
      'entries',
      'timeline',
      'provenance',
      'raw',
      'policy',
      'travel',
      'context',
      'scripts',
      'memory',
      'system',
      'tour',
    ],
  ],
  'create-provost': [],
  cli: ['command', 'terminal', 'project', 'session', 'checks', 'commands'],
  teams: [],
  replay: ['evaluation'],
  'policy-cedar': [],
  durable: [],
  guard: ['definition', 'log', 'history', 'judge', 'ai-sdk', 'openai'],
  provost: [],
}
const mostFiles = 14
const largestCycle = 2

const problems = globSync('packages/*/src').flatMap((src) => {
  const name = basename(dirname(src))
  const order = layers[name]
  if (!order) return [`${src}: the package is missing in the table of scripts/check-layers.ts.`]
  const graph = importsOf(src)
  return [
    ...unknownFolders(src, order, graph),
    ...crowdedFolders(src, graph),
    ...upward(src, order, graph),
    ...cycles(src, graph),
  ]
})
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0

/** By file: the files of the same package that it imports or re-exports, types included. */
function importsOf(src: string): ReadonlyMap<string, readonly string[]> {
  const files = globSync('**/*.{ts,tsx}', { cwd: src })
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(src, file), 'utf8')
      const paths = [...text.matchAll(/^(?:import|export)\b[^'";]*?\bfrom\s+'(\.[^']+)'/gm)]
      return [file, paths.map(([, path = '']) => normalize(join(dirname(file), path)))]
    }),
  )
}

function folderOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : '.'
}

function unknownFolders(src: string, order: readonly string[], graph: ReadonlyMap<string, unknown>): readonly string[] {
  const folders = new Set([...graph.keys()].map(folderOf))
  folders.delete('.')
  const missing = [...folders].filter((folder) => !order.includes(folder))
  const gone = order.filter((folder) => !folders.has(folder))
  return [
    ...missing.map((folder) => `${src}/${folder}: the folder is missing in the table of scripts/check-layers.ts.`),
    ...gone.map(
      (folder) => `${src}/${folder}: the table of scripts/check-layers.ts names a folder that does not exist.`,
    ),
  ]
}

function crowdedFolders(src: string, graph: ReadonlyMap<string, unknown>): readonly string[] {
  const manifest = readFileSync(join(src, '../package.json'), 'utf8')
  const counted = [...graph.keys()].filter((file) => !manifest.includes(`"./src/${file}"`))
  const counts = Map.groupBy(counted, dirname)
  return [...counts]
    .filter(([, files]) => files.length > mostFiles)
    .map(([folder, files]) => `${src}/${folder}: ${files.length} files, at most ${mostFiles}. Split it by concept.`)
}

function upward(
  src: string,
  order: readonly string[],
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const rank = (file: string): number => order.indexOf(folderOf(file))
  return [...graph].flatMap(([file, imports]) => {
    if (folderOf(file) === '.') return []
    return imports
      .filter((path) => folderOf(path) === '.' || rank(path) > rank(file))
      .map((path) => `${src}/${file} imports ${path}, which is in a lower row of the table of scripts/check-layers.ts.`)
  })
}

/** Tarjan's algorithm for strongly connected components. */
function cycles(src: string, graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = []
  const index = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const visit = (file: string): number => {
    const at = index.size
    index.set(file, at)
    stack.push(file)
    let low = at
    for (const path of graph.get(file) ?? []) {
      if (!graph.has(path)) continue
      if (!index.has(path)) low = Math.min(low, visit(path))
      else if (stack.includes(path)) low = Math.min(low, lowest.get(path) ?? index.get(path) ?? low)
    }
    lowest.set(file, low)
    if (low === at) {
      const cycle = stack.splice(stack.indexOf(file))
      if (cycle.length > largestCycle)
        found.push(`${src}: ${cycle.length} files import each other: ${cycle.join(', ')}.`)
    }
    return low
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return found
}
