import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { createDurableAgent } from '@mastra/core/agent/durable'
import type { MastraModelConfig } from '@mastra/core/llm'
import { createTool } from '@mastra/core/tools'
import { LibSQLStore } from '@mastra/libsql'

import { countChunk, emptyTally } from '../loop/contender.ts'
import type { Contender, Tally } from '../loop/contender.ts'
import { inputSchema, look, question, toolDescription, toolName } from '../loop/script.ts'
import { aiSdkModel } from '../loop/scripted-model.ts'

const id = 'looker'

function looker(steps: number, chunks: number | undefined, tally: () => Tally): Agent {
  // Its own type of a model has a `doGenerate` that also streams. Nothing calls it here.
  const model = aiSdkModel(steps, tally, chunks) as MastraModelConfig
  return new Agent({
    id,
    name: id,
    instructions: '',
    model,
    tools: {
      [toolName]: createTool({
        id: toolName,
        description: toolDescription,
        inputSchema,
        async execute({ item }) {
          tally().executed++
          return look(item)
        },
      }),
    },
  })
}

interface Part {
  readonly type: string
  readonly payload?: unknown
}

async function consume(parts: AsyncIterable<Part>, tally: Tally): Promise<void> {
  for await (const { type, payload } of parts) {
    if (type === 'tool-result') {
      tally.results++
      tally.text = ''
    } else if (type === 'text-delta' && typeof payload === 'object' && payload !== null && 'text' in payload) {
      countChunk(tally)
      tally.text += String(payload.text)
    }
  }
}

export const mastra: Contender = {
  name: 'Mastra',
  package: '@mastra/core',
  prepare(steps, chunks) {
    let tally = emptyTally()
    const agent = looker(steps, chunks, () => tally)
    return async () => {
      tally = emptyTally()
      const { fullStream } = await agent.stream(question, { maxSteps: steps })
      await consume(fullStream, tally)
      return tally
    }
  },
}

let file: LibSQLStore | undefined
function openFile(): LibSQLStore {
  if (file) return file
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  return (file = new LibSQLStore({ id: 'bench', url: `file:${join(folder, 'mastra.db')}` }))
}

/** Its durable agent, with the setting under which a run that is under way is stored, so that it can be recovered. */
export const mastraLibsql: Contender = {
  name: 'Mastra, LibSQL',
  package: '@mastra/core',
  prepare(steps, chunks) {
    let tally = emptyTally()
    const agent = createDurableAgent({ agent: looker(steps, chunks, () => tally), maxSteps: steps })
    // Gives the agent its storage.
    void new Mastra({
      agents: { [id]: agent },
      storage: openFile(),
      recovery: { durableAgents: 'auto' },
      logger: false,
    })
    return async () => {
      tally = emptyTally()
      const { fullStream, cleanup } = await agent.stream(question, { maxSteps: steps })
      await consume(fullStream, tally)
      cleanup()
      return tally
    }
  },
}
