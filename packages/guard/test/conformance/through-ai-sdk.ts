import type { Entry } from '@provost/core'
import { provenance } from '@provost/guard'
import { memoryStore } from '@provost/sessions'
import { ToolLoopAgent } from 'ai'
import type { ModelMessage, ToolApprovalResponse, ToolSet } from 'ai'

import { answering } from '../mock-model.ts'
import { declared, definitions } from './recorded-session.ts'
import type { RecordedSession } from './recorded-session.ts'
import { replies } from './replies.ts'
import { onlyLog } from './verdicts.ts'

/** Runs a recorded session through the agent of the AI SDK, which generates or streams. */
export async function throughAiSdk(session: RecordedSession, way: 'generate' | 'stream'): Promise<readonly Entry[]> {
  const store = memoryStore()
  const reply = replies(session)
  const errors: unknown[] = []
  const toolApproval = provenance({
    mode: 'enforce',
    tools: declared,
    audit: store,
    history: 'own',
    onError: (error) => errors.push(error),
  })
  const tools: ToolSet = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [
      name,
      { ...definition, execute: (input: unknown) => reply(name, input) },
    ]),
  )
  let id = 0
  const model = answering(
    session.turns.flatMap(({ answers }) => [
      ...answers.map(({ text, calls = [] }) => ({
        ...(text !== undefined && { text }),
        calls: calls.map(({ name, input }) => ({ id: `call_${id++}`, name, input })),
      })),
      ...(answers.at(-1)?.calls ? [{ text: 'Done.' }] : []),
    ]),
  )
  const agent = new ToolLoopAgent({ model, tools, toolApproval })
  const messages: ModelMessage[] = []
  for (const { user } of session.turns) {
    messages.push({ role: 'user', content: user })
    for (;;) {
      const { content, added } = await run(agent, messages, way)
      messages.push(...added)
      const answers = content.flatMap((part): ToolApprovalResponse[] =>
        part.type === 'tool-approval-request' && !part.isAutomatic
          ? [{ type: 'tool-approval-response', approvalId: part.approvalId, approved: session.human === 'approve' }]
          : [],
      )
      if (answers.length === 0) break
      messages.push({ role: 'tool', content: answers })
    }
  }
  await toolApproval.guard.close()
  if (errors.length > 0) throw new AggregateError(errors, 'The guard failed.')
  return onlyLog(store)
}

async function run(agent: ToolLoopAgent, messages: readonly ModelMessage[], way: 'generate' | 'stream') {
  if (way === 'generate') {
    const { content, responseMessages } = await agent.generate({ messages: [...messages] })
    return { content, added: responseMessages }
  }
  const stream = await agent.stream({ messages: [...messages] })
  await stream.consumeStream()
  return { content: await stream.content, added: await stream.responseMessages }
}
