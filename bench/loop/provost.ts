import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, memoryStore, tool } from 'provost'
import type { Extension, RunResult, SessionStore } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { countChunk, emptyTally } from './contender.ts'
import type { Contender, Tally } from './contender.ts'
import { inputSchema, look, question, toolDescription, toolName } from './script.ts'
import { aiSdkModel } from './scripted-model.ts'

type Run = () => Promise<{ readonly tally: Tally; readonly result: RunResult }>

function prepare(
  steps: number,
  store?: SessionStore,
  extensions: readonly Extension<unknown>[] = [],
  effect: 'read' | 'write' = 'read',
  chunks = 1,
): Run {
  let tally = emptyTally()
  const agent = createAgent({
    name: 'looker',
    model: aiSdkModel(steps, () => tally, chunks),
    tools: [
      tool({
        name: toolName,
        description: toolDescription,
        input: inputSchema,
        effect,
        execute({ item }) {
          tally.executed++
          return look(item)
        },
      }),
    ],
    maxSteps: steps,
    extensions,
    ...(store && { store }),
  })
  return async () => {
    tally = emptyTally()
    const stream = agent.stream(question)
    for await (const event of stream) {
      if (event.type === 'text.delta') countChunk(tally)
      else if (event.type === 'tool.execute.end') tally.results++
    }
    const result = await stream.result
    tally.text = result.text
    return { tally, result }
  }
}

export const provost: Contender = {
  name: 'provost',
  package: 'provost',
  prepare(steps, chunks) {
    const store = memoryStore()
    const run = prepare(steps, store, [], 'read', chunks)
    const kept: string[] = []
    const tallied = async (): Promise<Tally> => {
      const { tally, result } = await run()
      kept.push(result.sessionId)
      return tally
    }
    return Object.assign(tallied, {
      async forget() {
        for (const sessionId of kept.splice(0)) await store.delete(sessionId)
      },
    })
  },
}

/** A file for the whole process, as a server has one: every run is a session in it. */
let file: SessionStore | undefined
function openFile(): SessionStore {
  if (file) return file
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  const opened = (file = sqliteStore(join(folder, 'sessions.db')))
  process.once('exit', () => {
    void opened.close()
    rmSync(folder, { recursive: true })
  })
  return opened
}

/** The same, with every step in a SQLite file before the next one begins. */
export const provostSqlite: Contender = {
  name: 'provost, sqlite',
  package: 'provost',
  prepare(steps, chunks) {
    const run = prepare(steps, openFile(), [], 'read', chunks)
    return async () => (await run()).tally
  },
}

/** The same again, with a tool that must not run twice: before each call, its start is on the disk. */
export const provostSqliteWrites: Contender = {
  name: 'provost, sqlite, writes',
  package: 'provost',
  prepare(steps, chunks) {
    const run = prepare(steps, openFile(), [], 'write', chunks)
    return async () => (await run()).tally
  },
}

/** The same with extensions, for as many runs as are wanted: what a store keeps of them is for the caller to delete. */
export function provostIn(
  steps: number,
  store: SessionStore,
  extensions: readonly Extension<unknown>[],
): () => Promise<{ readonly tally: Tally; readonly sessionId: string }> {
  const run = prepare(steps, store, extensions)
  return async () => {
    const { tally, result } = await run()
    return { tally, sessionId: result.sessionId }
  }
}

/** Runs with everything they leave behind: the agent with its store, and the results. */
export async function keptRuns(steps: number, runs: number): Promise<{ run: Run; results: unknown[] }> {
  const run = prepare(steps)
  const results: unknown[] = []
  for (let n = 0; n < runs; n++) results.push((await run()).result)
  return { run, results }
}
