import { existsSync } from 'node:fs'

import { createAgent } from '@provost/agent'
import { isRecord } from '@provost/core'
import { verifyAudit } from '@provost/governance'
import { approvalFrom } from '@provost/guard'
import type { ToolApproval } from '@provost/guard'
import { claudeGuard } from '@provost/guard/claude-agent'
import type { ClaudeHooks } from '@provost/guard/claude-agent'
import { agentsGuard } from '@provost/guard/openai-agents'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { jsonSchemaOf, tool } from '@provost/tools'
import { test } from 'vitest'
import { z } from 'zod'

import type { PeerRun } from './peer-run.ts'
import { declared, definitions, recordedSessions } from './recorded-session.ts'
import type { RecordedSession } from './recorded-session.ts'
import { replies } from './replies.ts'
import { onlyLog, verdictsIn } from './verdicts.ts'

const folder = new URL('../../../../bench/peers/', import.meta.url)
const isInstalled = existsSync(new URL('node_modules/.modules.yaml', folder))

/** What loops hide changes these verdicts, as the guide states. */
const hidden = {
  openai: {
    // A failure is a text for the model, like any result.
    'a call that failed is given back': ['read_inbox allow', 'send_email allow', 'send_email ask contract'],
  },
  claude: {
    // No event has the answer of the agent.
    'a yes confirms what the agent showed': ['read_inbox allow', 'send_email ask argument-origin'],
  },
} satisfies Record<string, Readonly<Record<string, readonly string[]>>>

const expectedIn = (loop: keyof typeof hidden, { name, expected }: RecordedSession): readonly string[] => {
  const changed: Readonly<Record<string, readonly string[]>> = hidden[loop]
  return changed[name] ?? expected
}

/** Loads a file of the peers by a name that no type checker follows: it is checked where they are installed. */
const load = <T>(file: string): Promise<T> => import(new URL(file, folder).href)
const missing = 'The peers are not installed: pnpm install --dir bench/peers'

/** Returns a recorded session in the form of the peers. */
function peerRun(session: RecordedSession, protect: PeerRun['protect']): PeerRun {
  const reply = replies(session)
  return {
    tools: Object.entries(definitions).map(([name, { description, inputSchema }]) => ({
      name,
      description: typeof description === 'string' ? description : '',
      parameters: { additionalProperties: false, required: [], ...jsonSchemaOf(inputSchema as z.ZodType) },
      execute: (input) => reply(name, input),
    })),
    turns: session.turns.map(({ user }) => user),
    answers: session.turns.flatMap(({ answers }) =>
      answers.at(-1)?.calls ? [...answers, { text: 'Done.' }] : answers,
    ),
    approves: session.human === 'approve',
    protect,
  }
}

test.for(recordedSessions)('OpenAI Agents: $name', async (session, { expect, skip }) => {
  if (!isInstalled) skip(missing)
  const store = memoryStore()
  const errors: unknown[] = []
  const { guard, protect } = agentsGuard({
    ...{ mode: 'enforce', tools: declared, audit: store, session: () => 'recorded', history: 'own' },
    onError: (error) => errors.push(error),
  })
  const { guardOpenai } = await load<{ guardOpenai: (run: PeerRun) => Promise<void> }>('guard-openai.ts')
  await guardOpenai(peerRun(session, protect))
  await guard.close()
  expect(errors).toEqual([])
  const log = await onlyLog(store)
  expect(verdictsIn(log)).toEqual(expectedIn('openai', session))
  expect(verifyAudit(log).problems).toEqual([])
})

test.for(recordedSessions)('the events of the Claude Agent SDK: $name', async (session, { expect, skip }) => {
  if (!isInstalled) skip(missing)
  const store = memoryStore()
  const errors: unknown[] = []
  const { guard, hooks } = claudeGuard({
    ...{ mode: 'enforce', tools: declared, audit: store, history: 'own' },
    onError: (error) => errors.push(error),
  })
  type Run = (session: RecordedSession, hooks: ClaudeHooks) => Promise<void>
  const { guardClaude } = await load<{ guardClaude: Run }>('guard-claude.ts')
  await guardClaude(session, hooks)
  await guard.close()
  expect(errors).toEqual([])
  const log = await onlyLog(store)
  expect(verdictsIn(log)).toEqual(expectedIn('claude', session))
  expect(verifyAudit(log).problems).toEqual([])
})

test('opaPolicy of the AI SDK is an extension of ours', async ({ expect, skip }) => {
  if (!isInstalled) skip(missing)
  const { guardOpa } = await load<{ guardOpa: (decide: (input: unknown) => unknown) => ToolApproval }>('guard-opa.ts')
  const inputs: unknown[] = []
  const policy = guardOpa((input) => {
    inputs.push(input)
    const args = isRecord(input) && isRecord(input['args']) ? input['args'] : {}
    const cents = Number(args['cents'])
    if (cents > 100) return { decision: 'deny', reason: 'Over the limit.' }
    return cents > 10 ? { decision: 'requires-approval', reason: 'A manager decides.' } : { decision: 'allow' }
  })
  const ran: number[] = []
  const store = memoryStore()
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      ...[5, 50, 500].map((cents) => ({ toolCalls: [{ name: 'refund', input: { cents } }] })),
      { text: 'Done.' },
    ]),
    tools: [
      tool({
        name: 'refund',
        effect: 'write',
        input: z.object({ cents: z.number() }),
        execute: ({ cents }) => `refunded ${ran.push(cents)}`,
      }),
    ],
    extensions: [approvalFrom(policy)],
    store,
  })
  await agent.run('Refund.', { context: { role: 'clerk' }, onApproval: () => 'approve' })
  expect(ran).toEqual([5, 50])
  expect(verdictsIn(await onlyLog(store))).toEqual(['refund allow', 'refund ask', 'refund deny'])
  expect(inputs[0]).toMatchObject({ tool: { name: 'refund' }, args: { cents: 5 }, runtimeContext: { role: 'clerk' } })
})
