import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** A page in the navigation. */
export interface NavigationPage {
  readonly text: string
  /** Its path in the site, without an ending. */
  readonly path: string
}

/** A group of pages in the navigation. */
export interface NavigationSection {
  readonly title: string
  readonly collapsed?: true
  readonly pages: readonly NavigationPage[]
}

const root = join(import.meta.dirname, '../..')
/** Pages that a long measurement writes. */
const measured: ReadonlySet<string> = new Set(['benchmarks', 'soak-figures'])

function page(text: string, path: string): NavigationPage {
  return { text, path }
}

const entries = [
  'provost',
  'a2a',
  'client',
  'client/ai',
  'code-mode',
  'files',
  'governance',
  'guard',
  'logger',
  'mcp',
  'memory',
  'postgres',
  'replay',
  'server',
  'server/ai',
  'sessions',
  'skills',
  'sqlite',
  'telemetry',
  'testing',
  'web',
]

function referencePath(entry: string): string {
  return `reference/${entry === 'provost' ? 'provost' : entry.replace('/', '-')}`
}

/** The pages of the reference, in their order. */
export const referenceEntries: readonly NavigationPage[] = [
  ...entries.map((entry) => page(entry === 'provost' ? entry : `provost/${entry}`, referencePath(entry))),
  page('provost: classes', 'reference/provost-classes'),
  page('provost: interfaces', 'reference/provost-interfaces'),
  page('provost: types', 'reference/provost-type-aliases'),
  page('provost: values', 'reference/provost-variables'),
]

/** The navigation of the site: each page of a reader's way, in its order. */
export const sections: readonly NavigationSection[] = [
  {
    title: 'Start in five minutes',
    pages: [
      page('A script', 'start/script'),
      page('A product backend', 'start/backend'),
      page('A traced deployment', 'start/traced'),
      page('Overview', 'overview'),
    ],
  },
  {
    title: 'Understand',
    pages: [
      page('Concepts', 'guide/concepts'),
      page('Sessions', 'guide/sessions'),
      page('Events', 'guide/events'),
      page('Hooks', 'guide/hooks'),
      page('Security model', 'security'),
    ],
  },
  {
    title: 'Recipes',
    pages: [
      page('From a problem to a program', 'guide/problems'),
      page('In your application', 'guide/recipes'),
      page('All examples', 'examples/'),
    ],
  },
  {
    title: 'Agents',
    pages: [
      page('Tools', 'packages/tools'),
      page('Models', 'guide/models'),
      page('Context', 'guide/context'),
      page('Memory', 'guide/memory'),
      page('Composite tools', 'guide/composites'),
      page('Code mode', 'guide/code-mode'),
      page('Planned mode', 'guide/planned'),
      page('Orchestrators', 'guide/orchestrators'),
      page('Teams', 'guide/teams'),
      page('Handoffs', 'guide/handoffs'),
      page('Evaluations', 'guide/evaluations'),
    ],
  },
  {
    title: 'Governance',
    pages: [
      page('Data-flow policy, guards, audit', 'guide/governance'),
      page('In other loops', 'guide/guard'),
      page('Effects', 'guide/effects'),
      page('Approvals', 'guide/approvals'),
      page('Secrets', 'guide/secrets'),
    ],
  },
  {
    title: 'Operation',
    pages: [
      page('Command line', 'guide/cli'),
      page('Server and client', 'guide/server'),
      page('Console', 'guide/console'),
      page('Stores', 'guide/stores'),
      page('Telemetry', 'guide/telemetry'),
      page('Production', 'guide/production'),
      page('Many machines', 'guide/many-machines'),
      page('Runtimes', 'runtimes'),
    ],
  },
  {
    title: 'Migrate',
    pages: [
      page('From the AI SDK', 'guide/from-the-ai-sdk'),
      page('From OpenAI Agents', 'guide/from-openai-agents'),
      page('From LangGraph.js', 'guide/from-langgraph'),
      page('From Mastra', 'guide/from-mastra'),
    ],
  },
  {
    title: 'Evidence',
    pages: [
      page('Benchmarks', 'benchmarks'),
      page('The five designs', 'features'),
      page('Their snippets as programs', 'examples/seeds/'),
      page('Data-flow figures', 'governance-figures'),
      page('Hostile inputs', 'hostile-figures'),
      page('Mutation tests', 'mutation-figures'),
      page('Soak', 'soak-figures'),
    ].filter(({ path }) => !measured.has(path) || existsSync(join(root, `docs/${path}.md`))),
  },
  {
    title: 'Reference',
    collapsed: true,
    pages: [page('Errors', 'guide/errors'), page('All functions', 'reference/'), ...referenceEntries],
  },
  {
    title: 'Project',
    collapsed: true,
    pages: [
      page('All pages', 'contents'),
      page('Changelog', 'changelog'),
      page('Contributing', 'contributing'),
      page('Release', 'release'),
      page('Decisions', 'decisions/'),
    ],
  },
]
