import { createAgent } from '@provost/agent'
import type { Entry } from '@provost/core'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { fromAiTool } from '@provost/tools'

import { declared, definitions } from './recorded-session.ts'
import type { RecordedSession } from './recorded-session.ts'
import { replies } from './replies.ts'
import { onlyLog } from './verdicts.ts'

/** Runs a recorded session through an agent of Provost. */
export async function throughProvost(session: RecordedSession): Promise<readonly Entry[]> {
  const store = memoryStore()
  const reply = replies(session)
  const agent = createAgent({
    name: 'guarded',
    model: scriptedModel(
      session.turns.flatMap(({ answers }) => [
        ...answers.map(({ text, calls = [] }) => ({
          ...(text !== undefined && { text }),
          toolCalls: calls.map(({ name, input }) => ({ name, input })),
        })),
        ...(answers.at(-1)?.calls ? [{ text: 'Done.' }] : []),
      ]),
    ),
    tools: Object.entries(definitions).map(([name, definition]) =>
      fromAiTool(name, { ...definition, execute: (input: unknown) => reply(name, input) }, declared[name]),
    ),
    extensions: [dataFlowPolicy({ mode: 'enforce' })],
    store,
  })
  const sessionId = 'recorded'
  for (const { user } of session.turns) await agent.run(user, { sessionId, onApproval: () => session.human })
  return onlyLog(store)
}
