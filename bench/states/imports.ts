/** What a program imports, as it would write it. */
export interface Import {
  readonly title: string
  readonly side: 'ours' | 'peer'
  load(): Promise<unknown>
}

/** From the folder of the peers, by names that no type checker follows. */
async function fromPeers(...names: readonly string[]): Promise<void> {
  const { load }: { load(name: string): Promise<unknown> } = await import(
    new URL('../peers/load.ts', import.meta.url).href
  )
  for (const name of names) await load(name)
}

export const imports = {
  provost: { title: 'provost', side: 'ours', load: () => import('provost') },
  sqlite: {
    title: 'provost and provost/sqlite',
    side: 'ours',
    load: async () => [await import('provost'), await import('provost/sqlite')],
  },
  governance: {
    title: 'provost and provost/governance',
    side: 'ours',
    load: async () => [await import('provost'), await import('provost/governance')],
  },
  server: {
    title: 'provost and provost/server',
    side: 'ours',
    load: async () => [await import('provost'), await import('provost/server')],
  },
  ai: { title: 'ai', side: 'peer', load: () => import('ai') },
  openai: { title: '@openai/agents', side: 'peer', load: () => fromPeers('@openai/agents') },
  pi: { title: 'pi-agent-core', side: 'peer', load: () => fromPeers('@earendil-works/pi-agent-core') },
  langgraph: { title: 'LangGraph.js', side: 'peer', load: () => fromPeers('@langchain/langgraph/prebuilt') },
  mastra: { title: 'Mastra', side: 'peer', load: () => fromPeers('@mastra/core/agent', '@mastra/core/tools') },
} as const satisfies Readonly<Record<string, Import>>

export type Subject = keyof typeof imports
