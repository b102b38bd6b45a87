import { isStepCount, streamText, tool, ToolLoopAgent } from 'ai'
import type { StreamTextResult, ToolSet } from 'ai'

import { countChunk, emptyTally } from './contender.ts'
import type { Contender, Tally } from './contender.ts'
import { inputSchema, look, question, toolDescription, toolName } from './script.ts'
import { aiSdkModel } from './scripted-model.ts'

async function consume(
  result: Pick<StreamTextResult<ToolSet, never, never>, 'stream' | 'text'>,
  tally: Tally,
): Promise<Tally> {
  for await (const part of result.stream) {
    if (part.type === 'text-delta') countChunk(tally)
    else if (part.type === 'tool-result') tally.results++
  }
  tally.text = await result.text
  return tally
}

function lookTool(tally: () => Tally) {
  return tool({
    description: toolDescription,
    inputSchema,
    execute({ item }) {
      tally().executed++
      return look(item)
    },
  })
}

export const toolLoopAgent: Contender = {
  name: 'ToolLoopAgent.stream',
  package: 'ai',
  prepare(steps, chunks) {
    let tally = emptyTally()
    const agent = new ToolLoopAgent({
      model: aiSdkModel(steps, () => tally, chunks),
      tools: { [toolName]: lookTool(() => tally) },
      stopWhen: isStepCount(steps),
    })
    return async () => {
      tally = emptyTally()
      return consume(await agent.stream({ prompt: question }), tally)
    }
  },
}

export const streamTextLoop: Contender = {
  name: 'streamText',
  package: 'ai',
  prepare(steps, chunks) {
    let tally = emptyTally()
    const model = aiSdkModel(steps, () => tally, chunks)
    const tools = { [toolName]: lookTool(() => tally) }
    return async () => {
      tally = emptyTally()
      return consume(streamText({ model, tools, prompt: question, stopWhen: isStepCount(steps) }), tally)
    }
  },
}
