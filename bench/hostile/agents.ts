import { createAgent, tool, z } from 'provost'
import type { Agent, AgentStream, Extension, Runtime, SessionStore, Tool } from 'provost'
import { codeMode } from 'provost/code-mode'
import { dataFlowPolicy, protocolGuard, sanitizeInbound } from 'provost/governance'
import { scriptedModel } from 'provost/testing'
import type { ScriptedEntry } from 'provost/testing'

/** What an agent of the corpus is made of. */
export interface ProbeOptions {
  readonly steps: readonly ScriptedEntry[]
  readonly store: SessionStore
  /** What the tool `look` gives. */
  readonly found?: unknown
  readonly tools?: readonly Tool[]
  readonly runtime?: Runtime
  readonly scripts?: boolean
}

/** The guards that a careful application has. */
function guards(): readonly Extension[] {
  return [dataFlowPolicy({ mode: 'enforce' }), sanitizeInbound({ policy: 'strip+wrap' }), protocolGuard()]
}

/**
 * An agent under data-flow policy, inbound sanitising and protocol guard. It has a tool that reads, one that sends, one
 * that asks, and those that are given.
 */
export function probeAgent(options: ProbeOptions): Agent {
  const { steps, store, found = 'Nothing new.', tools = [], runtime, scripts = false } = options
  const look = tool({
    name: 'look',
    description: 'Reads what came in.',
    effect: 'read',
    input: z.looseObject({}),
    maxResultTokens: 1_000_000,
    execute: () => found,
  })
  const send = tool({
    name: 'send',
    description: 'Sends a text.',
    effect: 'egress',
    input: z.object({ to: z.string(), subject: z.string().optional(), body: z.string() }),
    args: { to: 'destination', subject: 'content', body: 'content' },
    execute: () => 'sent',
  })
  const note = tool({
    name: 'note',
    description: 'Keeps a value.',
    effect: 'none',
    input: z.record(z.string(), z.unknown()),
    execute: () => 'kept',
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays a sum.',
    effect: 'write',
    needsApproval: true,
    input: z.looseObject({ sum: z.number() }),
    execute: () => 'paid',
  })
  return createAgent({
    name: 'probe',
    model: scriptedModel([...steps], { after: 'repeat-last' }),
    tools: [look, send, note, pay, ...tools],
    extensions: [...guards(), ...(scripts ? [codeMode()] : [])],
    store,
    leaseMs: 1_000,
    maxSteps: 20,
    ...(runtime && { runtime }),
  })
}

/** Ends a run of the corpus. */
export const done: ScriptedEntry = { text: 'Done.' }

/** How a run ended, with the codes of the calls that failed: `completed`, `failed max-steps`, `completed [timeout]`. */
export async function outcomeOf(stream: AgentStream): Promise<string> {
  const codes = new Set<string>()
  for await (const event of stream) {
    if (event.type === 'tool.execute.error') codes.add(event.error.code)
    if (event.type === 'tool.skipped') codes.add('skipped')
  }
  const result = await stream.result
  const ended = result.status === 'failed' ? `failed ${result.error.code}` : result.status
  return codes.size === 0 ? ended : `${ended} [${[...codes].toSorted().join(' ')}]`
}
