import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'

/** A call that a script made. */
export interface ScriptCall {
  readonly callId: string
  readonly tool: string
  readonly planned: IndexEntry
  readonly settled: IndexEntry | undefined
  /** It waits for a human or for a result from outside. */
  readonly wait: IndexEntry | undefined
}

/** A script of a model, and how far it came. */
export interface ScriptRun {
  readonly callId: string
  /** The message of the model that has the source. */
  readonly asked: IndexEntry
  readonly state: 'waits' | 'running' | 'not run' | 'ok' | 'failed'
  readonly settled: IndexEntry | undefined
  /** In the order in which the script made them. */
  readonly calls: readonly ScriptCall[]
  /** All entries of the script and its calls, in their order: what a resumed run repeats it from. */
  readonly journal: readonly IndexEntry[]
}

/** The tool of code mode. */
const scriptTool = 'code_execute'

/** Returns the scripts of a session and its children, in the order of the logs. */
export function scriptRuns(index: SessionIndex): readonly ScriptRun[] {
  return [...index.values()].flatMap(({ entries }) => runsIn(entries))
}

function runsIn(entries: readonly IndexEntry[]): readonly ScriptRun[] {
  const asked = new Map<string, IndexEntry>()
  /** The script of each call: its own id for that of a script. */
  const scripts = new Map<string, string>()
  const journals = new Map<string, IndexEntry[]>()
  const answered = new Set<string>()
  let isOver = false
  for (const entry of entries) {
    const { type, op, detail, callId } = entry
    if (type === 'run') isOver = op === 'ended'
    if (type === 'resolved' && detail.token !== undefined) answered.add(detail.token)
    if (type === 'message') {
      for (const call of detail.calls ?? []) {
        if (call.toolName !== scriptTool) continue
        asked.set(call.callId, entry)
        scripts.set(call.callId, call.callId)
        journals.set(call.callId, [])
      }
    }
    if (callId === undefined || type === 'message') continue
    const above = detail.parentCallId === undefined ? undefined : scripts.get(detail.parentCallId)
    if (above !== undefined) scripts.set(callId, above)
    journals.get(scripts.get(callId) ?? '')?.push(entry)
  }
  return [...asked].map(([callId, message]): ScriptRun => {
    const journal = journals.get(callId) ?? []
    const settled = journal.find((entry) => isEnd(entry, callId))
    const calls = callsIn(journal, callId, answered)
    const isStarted = journal.some(({ type, op, callId: of }) => type === 'call' && op === 'started' && of === callId)
    const isWaiting = journal.some((entry) => isOpenWait(entry, answered)) && !isOver
    return {
      ...{ callId, asked: message, settled, calls, journal },
      state: settled
        ? settled.detail.outcome === 'ok'
          ? 'ok'
          : 'failed'
        : isWaiting
          ? 'waits'
          : isStarted && !isOver
            ? 'running'
            : 'not run',
    }
  })
}

function callsIn(journal: readonly IndexEntry[], script: string, answered: ReadonlySet<string>): readonly ScriptCall[] {
  return journal.flatMap((planned) => {
    const { type, op, callId, name } = planned
    if (type !== 'call' || op !== 'planned' || callId === undefined || callId === script) return []
    const settled = journal.find((entry) => isEnd(entry, callId))
    const wait = settled ? undefined : journal.find((entry) => entry.callId === callId && isOpenWait(entry, answered))
    return [{ callId, tool: name ?? 'call', planned, settled, wait }]
  })
}

function isEnd({ type, op, callId }: IndexEntry, of: string): boolean {
  return type === 'call' && op === 'settled' && callId === of
}

function isOpenWait({ type, detail }: IndexEntry, answered: ReadonlySet<string>): boolean {
  return type === 'wait' && detail.token !== undefined && !answered.has(detail.token)
}
