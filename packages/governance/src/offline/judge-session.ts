import { foldLog } from '@provost/agent'
import { reduceEntry } from '@provost/agent/internal'
import type {
  ApprovalDecision,
  CallAnswer,
  Entry,
  EntryOf,
  Extension,
  Json,
  JsonObject,
  ToolCall,
  ToolInfo,
} from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import { isSink } from '../contracts/turn-contracts.ts'
import { roleValuesOf } from '../provenance/argument-role.ts'
import type { Sink } from '../provenance/data-flow-rule.ts'
import { definitionHash } from '../provenance/definition.ts'
import type { ExportedSession } from './exported-session.ts'
import type { JudgedArgument, JudgedCall, OfflineVerdict } from './judged-call.ts'
import type { KnownAgent, KnownAgents } from './known-agents.ts'
import type { OfflineRun } from './offline-context.ts'
import { entryAfter, offlineContext } from './offline-context.ts'
import {
  callInCountersOf,
  callUnderJudgement,
  isDerived,
  openCall,
  recordedCalls,
  verdictIn,
} from './recorded-verdicts.ts'
import type { RecordedCall } from './recorded-verdicts.ts'

/** A policy that judges recorded calls. */
export interface OfflinePolicy {
  readonly extension: Extension<unknown>
  /** Returns the sink that the rules received last, and forgets it. */
  takeSink(): Sink | undefined
  /** Does work that is not part of the coverage. */
  uncounted<T>(work: () => Promise<T>): Promise<T>
}

/** How a session is judged. */
export interface JudgeSessionOptions {
  readonly policy: OfflinePolicy
  readonly agents: KnownAgents
  readonly rederive: boolean
}

type SinkCall = ToolCall<JsonObject>

/** Values of a call that a row shows. */
const mostArguments = 50

/** One log of a session, and how far it was read. */
interface Cursor {
  readonly name: string
  readonly entries: readonly Entry[]
  readonly calls: ReadonlyMap<string, RecordedCall>
  readonly state: OfflineRun['state']
  readonly children: Map<string, Cursor>
  readonly parent: OfflineRun | undefined
  at: number
  run: OfflineRun | undefined
  /** Ends the run for the policy, which takes back what calls without an effect counted. */
  endRun: () => Promise<unknown>
}

/**
 * Judges the calls of a recorded session that write or send, each at the position of the log where the run decided about
 * it. Logs of children are read beside the log of their parent, by the time of their entries.
 */
export async function judgeSession(session: ExportedSession, options: JudgeSessionOptions): Promise<JudgedCall[]> {
  const { policy, agents, rederive } = options
  const { extension } = policy
  const missing = new Set<string>()
  const judged: JudgedCall[] = []
  const judgedCalls = new Map<string, OfflineVerdict>()

  function openLog(name: string, parent?: OfflineRun): Cursor {
    const entries = session.logs.get(name) ?? []
    const calls = recordedCalls(entries)
    const more = { children: new Map(), parent, at: 0, run: undefined, endRun: async () => {} }
    return { name, entries, calls, state: foldLog([]), ...more }
  }

  /** Reads a log up to a time, its last entry included. */
  async function read(cursor: Cursor, until: number): Promise<void> {
    for (;;) {
      const entry = cursor.entries[cursor.at]
      if (!entry || entry.at > until) break
      for (const child of cursor.children.values()) await read(child, entry.at)
      if (entry.type === 'child' && entry.op === 'joined' && entry.status !== 'suspended') {
        const child = cursor.children.get(entry.log)
        if (child) await read(child, Infinity)
        cursor.children.delete(entry.log)
      }
      await take(cursor, entry)
      cursor.at++
    }
    if (cursor.at < cursor.entries.length) return
    if (until === Infinity) for (const child of cursor.children.values()) await read(child, Infinity)
    if (until === Infinity) await cursor.endRun()
  }

  async function take(cursor: Cursor, entry: Entry): Promise<void> {
    const callId = callUnderJudgement(entry)
    const recorded = callId === undefined ? undefined : cursor.calls.get(callId)
    if (callId !== undefined && recorded) await judgeInOrder(cursor, callId)
    if (entry.type === 'call' && entry.op === 'decided') await countApproved(cursor, entry)
    if (rederive && isDerived(entry)) return
    // The judged policy has counted this call itself, unless it denies the call.
    const counted = judgedCalls.get(callInCountersOf(entry) ?? '')
    if (counted?.decision === 'allow' || counted?.decision === 'ask') return
    reduceEntry(cursor.state, entry)
    if (entry.type === 'run' && entry.op === 'started') await beginRun(cursor, entry.runId)
    if (entry.type === 'run' && entry.op === 'ended') await cursor.endRun()
    if (entry.type === 'child' && entry.op === 'spawned' && session.logs.has(entry.log) && cursor.run)
      cursor.children.set(entry.log, openLog(entry.log, cursor.run))
  }

  async function beginRun(cursor: Cursor, id: string): Promise<void> {
    await cursor.endRun()
    const { state, parent } = cursor
    const run: OfflineRun = {
      ...{ id, session: session.id, state, agents, blobs: session.blobs, missing, rows: [] },
      ...(parent && { parent }),
      append: (entryId, body) => reduceEntry(state, entryAfter(state, id, entryId, body)),
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    cursor.run = run
    const op = { id, kind: 'run', runId: id, agent: state.agent } as const
    // The policy sees the run as active until it ends: children find the contract of the outermost run.
    const ended = extension.hooks.around?.(op, () => promise, offlineContext(run, extension)).catch(() => {})
    cursor.endRun = async () => {
      resolve()
      await ended
    }
  }

  /** Judges a call, and before it the earlier calls of its step: their decisions may be recorded together. */
  async function judgeInOrder(cursor: Cursor, callId: string): Promise<void> {
    const step = [...(cursor.state.run?.calls.keys() ?? [])]
    const earlier = judgedCalls.has(callId) ? [] : step.slice(0, Math.max(0, step.indexOf(callId)))
    for (const id of [...earlier, callId]) {
      const recorded = cursor.calls.get(id)
      if (recorded && (id === callId || !recorded.deferred)) await judgeOnce(cursor, id, recorded)
    }
  }

  async function judgeOnce(cursor: Cursor, callId: string, recorded: RecordedCall): Promise<void> {
    if (judgedCalls.has(callId)) return
    const { run, state, name: log } = cursor
    const open = openCall(state, callId)
    const agent = agents.get(state.agent)
    const tool = open && agent?.tools.find(({ name }) => name === open.part.toolName)
    if (tool && !isSink(tool)) return
    const call = tool && callTo(tool, callId, recorded.decided.args, open)
    const verdict =
      run && call
        ? await verdictOn(run, call)
        : lacking([missingFor(state.agent, run && open?.part.toolName, agent, tool)])
    const sink = policy.takeSink()
    judgedCalls.set(callId, verdict)
    const { runId } = recorded.decided
    judged.push({
      ...{ session: session.id, log, runId, rootId: run ? offlineContext(run, extension).run.rootId : runId },
      ...{ agent: recorded.decided.agent, callId, tool: open?.part.toolName ?? '' },
      arguments: call ? argumentsOf(call, sink) : [],
      ...{ recorded: recorded.verdict, verdict, ran: recorded.ran },
      ...(recorded.human && { human: recorded.human }),
      ...(tool && isRedefined(tool, recorded) && { redefined: true }),
    })
  }

  async function verdictOn(run: OfflineRun, call: SinkCall, approval?: ApprovalDecision): Promise<OfflineVerdict> {
    run.rows.length = 0
    const answer = await extension.hooks['tool.call']?.(call, offlineContext(run, extension, approval))
    const row = run.rows.find(({ callId }) => callId === call.callId)
    if (missing.size > 0) return lacking([...missing])
    const said = row && verdictIn({ ...row, evidence: toJson(row.evidence) })
    return { ...said, decision: decisionIn(answer ?? undefined) }
  }

  /** Has the policy count a call that ran although the policy asks about it now. */
  async function countApproved(cursor: Cursor, decided: EntryOf<'call', 'decided'>): Promise<void> {
    const { callId, outcome, args } = decided
    const verdict = judgedCalls.get(callId)
    const { run, state } = cursor
    if (outcome !== 'proceed' || verdict?.decision !== 'ask' || !run) return
    const open = openCall(state, callId)
    const tool = open && agents.get(state.agent)?.tools.find(({ name }) => name === open.part.toolName)
    const call = open && tool && callTo(tool, callId, args, open)
    if (!call) return
    const by = cursor.calls.get(callId)?.human?.by
    const approval = { id: callId, decision: 'approve', ...(by !== undefined && { by }) } as const
    await policy.uncounted(() => verdictOn(run, call, approval))
  }

  await read(openLog([...session.logs.keys()][0] ?? ''), Infinity)
  return judged
}

/** Returns what the record lacks to judge a call. */
function missingFor(
  agentName: string,
  toolName: string | undefined,
  agent: KnownAgent | undefined,
  tool: ToolInfo | undefined,
): string {
  if (toolName === undefined) return 'the request for the call'
  if (!agent) return `the agent ${agentName}`
  return tool ? 'arguments that are an object' : `the definition of the tool ${toolName}`
}

function isRedefined(tool: ToolInfo, { definition }: RecordedCall): boolean {
  return definition !== undefined && definition !== definitionHash(tool)
}

function lacking(missing: readonly string[]): OfflineVerdict {
  return { decision: 'unknown', missing }
}

function decisionIn(answer: CallAnswer | undefined): 'allow' | 'ask' | 'deny' {
  if (!answer) return 'allow'
  return 'ask' in answer ? 'ask' : 'deny'
}

function callTo(
  tool: ToolInfo,
  callId: string,
  input: Json,
  { label, parentCallId }: { readonly label: ToolCall['label']; readonly parentCallId?: string },
): SinkCall | undefined {
  if (!isRecord(input)) return undefined
  return { callId, tool, input, label, ...(parentCallId !== undefined && { parentCallId }) }
}

function argumentsOf(call: SinkCall, sink: Sink | undefined): readonly JudgedArgument[] {
  if (sink) {
    const shown = sink.values.slice(0, mostArguments)
    return shown.map(({ path, role, value, origin }) => ({ path, role, value, origin: origin.kind }))
  }
  try {
    return roleValuesOf(call).slice(0, mostArguments)
  } catch {
    // A call with too many values is denied by each policy.
    return []
  }
}
