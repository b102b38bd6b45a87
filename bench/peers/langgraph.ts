import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue } from 'node:sqlite'

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessageChunk, ToolMessage } from '@langchain/core/messages'
import type { BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { tool } from '@langchain/core/tools'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createReactAgent } from '@langchain/langgraph/prebuilt'

import { countChunk, emptyTally } from '../loop/contender.ts'
import type { Contender, Tally } from '../loop/contender.ts'
import { chunk, closing, inputSchema, look, question, toolDescription, toolName, usage } from '../loop/script.ts'

const usage_metadata = {
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
}

/** The script as one of its chat models, which only streams. */
class ScriptedChat extends BaseChatModel {
  private calls = 0
  private readonly script: { readonly steps: number; readonly chunks: number; readonly tally: () => Tally }

  constructor(script: ScriptedChat['script']) {
    super({})
    this.script = script
  }

  override _llmType(): string {
    return 'scripted'
  }

  override bindTools(): this {
    return this
  }

  override _generate(): never {
    throw new Error('The bench only streams.')
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _: this['ParsedCallOptions'],
    run?: Parameters<BaseChatModel['_streamResponseChunks']>[2],
  ): AsyncGenerator<ChatGenerationChunk> {
    const { steps, chunks, tally } = this.script
    const call = this.calls++
    const step = call % steps
    tally().prompt = messages.length
    const last = step === steps - 1
    const text = last ? closing : chunk
    for (let n = 0; n < chunks; n++) {
      const generated = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) })
      yield generated
      await run?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk: generated })
    }
    const args = JSON.stringify({ item: step })
    const tool_call_chunks = last
      ? []
      : [{ type: 'tool_call_chunk' as const, index: 0, id: `call_${call}`, name: toolName, args }]
    const message = Object.assign(new AIMessageChunk({ content: '', tool_call_chunks }), { usage_metadata })
    yield new ChatGenerationChunk({ text: '', message })
  }
}

function contender(name: string, saver?: () => SqliteSaver): Contender {
  return {
    name,
    package: '@langchain/langgraph',
    prepare(steps, chunks = 1) {
      let tally = emptyTally()
      const lookTool = tool(
        ({ item }) => {
          tally.executed++
          return look(item)
        },
        { name: toolName, description: toolDescription, schema: inputSchema },
      )
      const agent = createReactAgent({
        llm: new ScriptedChat({ steps, chunks, tally: () => tally }),
        tools: [lookTool],
        ...(saver && { checkpointSaver: saver() }),
      })
      let threads = 0
      return async () => {
        tally = emptyTally()
        const stream = await agent.stream(
          { messages: [{ role: 'user', content: question }] },
          {
            streamMode: 'messages',
            // A step is two nodes.
            recursionLimit: 2 * steps + 1,
            configurable: { thread_id: `${process.pid}-${performance.now()}-${threads++}` },
          },
        )
        for await (const [message] of stream) record(message, tally)
        return tally
      }
    },
  }
}

function record(message: unknown, tally: Tally): void {
  if (message instanceof ToolMessage) {
    tally.results++
    tally.text = ''
  } else if (message instanceof AIMessageChunk && message.text !== '') {
    countChunk(tally)
    tally.text += message.text
  }
}

type Value = SQLInputValue | undefined

/** Its driver takes `undefined` for null. */
function bound(values: readonly Value[]): SQLInputValue[] {
  return values.map((value) => value ?? null)
}

/**
 * A database of Node with the methods that the saver calls. Its own driver has to be compiled, which a machine without
 * a compiler cannot do; the SQLite below is the same, and so is its care for the disk.
 */
function openDatabase(path: string): ConstructorParameters<typeof SqliteSaver>[0] {
  const db = new DatabaseSync(path)
  db.exec('pragma synchronous = normal')
  const adapted = {
    exec: (sql: string) => db.exec(sql),
    pragma: (sql: string) => db.exec(`pragma ${sql}`),
    prepare(sql: string) {
      const statement = db.prepare(sql)
      return {
        run: (...values: readonly Value[]) => statement.run(...bound(values)),
        get: (...values: readonly Value[]) => statement.get(...bound(values)),
        all: (...values: readonly Value[]) => statement.all(...bound(values)),
      }
    },
    transaction:
      (work: (...args: unknown[]) => unknown) =>
      (...args: unknown[]) => {
        db.exec('begin')
        try {
          const result = work(...args)
          db.exec('commit')
          return result
        } catch (error) {
          db.exec('rollback')
          throw error
        }
      },
  }
  // The saver calls no other method of the driver.
  return adapted as never
}

let file: SqliteSaver | undefined
function openFile(): SqliteSaver {
  if (file) return file
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true }))
  return (file = new SqliteSaver(openDatabase(join(folder, 'checkpoints.db'))))
}

export const langgraph = contender('LangGraph.js')
/** Every step is a checkpoint in a SQLite file. */
export const langgraphSqlite = contender('LangGraph.js, SqliteSaver', openFile)
