import type {
  ApprovalDecision,
  Decisions,
  Entry,
  EntryOf,
  Json,
  NewEntry,
  RemoteResult,
  RunStatus,
} from '@provost/core'
import { canonicalJson, isRecord, positionId, ProvostError, toErrorInfo, toJson } from '@provost/core'

import type { AgentPlan } from './agent-plan.ts'
import { planOf } from './agent-plan.ts'
import type { Agent } from './agent.ts'
import { lookedUpBy } from './draft.ts'
import { applyEntry, clock, readVerdict } from './fold.ts'
import type { LogState } from './log-state.ts'
import { emptyLog, offsetOf } from './log-state.ts'
import type { FinalFailure, LoopAnswers, LoopHandlers, ModelAnswered, Repair, Verdict } from './loop.ts'
import { drive, loopOf } from './loop.ts'

/** Where the loop of today does something else than the log tells. */
export interface ReplayDifference {
  /** Of the recorded entry. */
  readonly offset: number
  readonly expected: Entry
  /** The entry that the loop would have written, or in words what it would have done. */
  readonly got: NewEntry | string
}

/** How a session is replayed. */
export interface ReplayOptions {
  /** The limit that its runs had; default the agent's. */
  readonly maxSteps?: number
}

/**
 * Drives the agent's loop through a recorded session: what models answered, hooks and humans decided and tools gave
 * comes from the log. No model, tool or hook is called; an orchestrator is. Where the log ends, or a run was ended from
 * outside, there is nothing to compare any more. What stands before the mark of a fork is taken as it is.
 *
 * @param entries of one log, from its first on.
 * @returns the first difference; undefined where the loop still comes to the same log.
 * @throws ProvostError `wrong-agent`
 *
 * @example
 * const difference = await replaySession(desk, store.read('ann-17'))
 * if (difference) console.log(difference.offset, difference.expected, difference.got)
 */
export async function replaySession(
  agent: Agent<unknown, never>,
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  options: ReplayOptions = {},
): Promise<ReplayDifference | undefined> {
  const plan = planOf(agent)
  const tape = createTape(await collected(entries))
  const { state } = tape
  for (;;) {
    const entry = tape.entry()
    if (!entry) return undefined
    if (entry.type === 'run' && entry.op === 'started') {
      if (entry.manifest.agent !== plan.name) throw wrongAgent(entry.manifest.agent, plan.name)
      tape.take()
      tape.takeOpening()
    } else if (state.run?.status === 'suspended' && tape.isClosing()) tape.takeClosing()
    else if (state.run && state.run.status !== 'running' && isWork(entry)) {
      return { offset: entry.offset, expected: entry, got: 'nothing: the run is over' }
    } else tape.take()
    // A run that was resumed after a crash has another loop, from the log.
    while (state.run?.status === 'running' && tape.entry()) {
      const difference = await replayRun(plan, tape, options.maxSteps ?? plan.maxSteps)
      if (difference) return difference
    }
  }
}

async function collected(entries: Iterable<Entry> | AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for await (const entry of entries) all.push(entry)
  return all
}

/** Only a run does these. */
function isWork(entry: Entry): boolean {
  if (entry.type === 'message') return entry.via === 'model'
  return entry.type === 'call' || (entry.type === 'attempt' && entry.purpose !== 'generated')
}

/** A recorded log, as far as it was replayed. */
interface Tape {
  readonly state: LogState
  /** The next one. */
  entry(ahead?: number): Entry | undefined
  take(): void
  /** The recorded entry of an id, and whether it was replayed already. */
  find(id: string): { readonly entry: Entry; readonly past: boolean } | undefined
  /** What a run begins with. */
  takeOpening(): void
  /** Passes over what hooks and extensions wrote. */
  takeAside(): void
  /** The same, with the attempts that failed: they begin the step. */
  takeFailed(): void
  /** Passes over what happens within composites. */
  takeInside(): void
  /** Passes over what lookups said of calls that a process died in: a run that is resumed begins with it. */
  takeLookups(): void
  /** Whether the run was ended from outside here. */
  isClosing(): boolean
  takeClosing(): void
}

function createTape(recorded: readonly Entry[]): Tape {
  const state = emptyLog()
  const places = new Map(recorded.map(({ id }, index) => [id, index]))
  let at = 0
  const take = (): void => {
    const entry = recorded[at++]
    if (entry) applyEntry(state, entry)
  }
  const takeWhile = (holds: (entry: Entry) => boolean): void => {
    for (let entry = recorded[at]; entry && holds(entry); entry = recorded[at]) take()
  }
  const given = recorded.findLastIndex(
    (entry) => entry.type === 'ext' && entry.name === 'provost' && entry.key === 'forked-from',
  )
  for (const entry of recorded.slice(0, given + 1)) applyEntry(state, entry)
  at = given + 1
  return {
    state,
    entry: (ahead = 0) => recorded[at + ahead],
    take,
    find(id) {
      const place = places.get(id)
      const entry = place === undefined ? undefined : recorded[place]
      return entry && place !== undefined ? { entry, past: place < at } : undefined
    },
    takeOpening: () =>
      takeWhile(
        (entry) => isAside(entry) || isTaken(state, entry) || (entry.type === 'message' && entry.via === 'input'),
      ),
    takeAside: () => takeWhile(isAside),
    takeFailed: () => takeWhile((entry) => isAside(entry) || isFailed(entry)),
    takeInside: () => takeWhile((entry) => isAside(entry) || isInside(state, entry)),
    takeLookups() {
      const found = new Set<string>()
      takeWhile((entry) => {
        if (isAside(entry)) return true
        if (entry.type !== 'call') return false
        if (entry.op === 'settled') return found.delete(entry.callId)
        if (entry.op !== 'decided' || entry.by !== lookedUpBy) return false
        if (entry.outcome === 'result') found.add(entry.callId)
        return true
      })
    },
    isClosing() {
      let cutOff = false
      for (let i = at; ; i++) {
        const entry = recorded[i]
        // Of a log that ends here, what the end of the run would have been is not known.
        if (!entry) return cutOff
        cutOff ||= entry.type === 'call'
        if (entry.type === 'run') return entry.op === 'ended' && (entry.status === 'aborted' || isFromOutside(entry))
        if (entry.type === 'message' && entry.via === 'model')
          return entry.message.role === 'aborted' || isClosingError(entry)
        const between =
          entry.type === 'resolved' || (entry.type === 'call' && entry.op === 'settled' && entry.via === 'log')
        if (!between && !isAside(entry) && !isFailed(entry)) return false
      }
    },
    takeClosing() {
      takeWhile((entry) => !(entry.type === 'run'))
      take()
    },
  }
}

/** What the loop does not ask for: whoever drives it writes it on its own. */
function isAside(entry: Entry): boolean {
  switch (entry.type) {
    case 'ext':
    case 'audit':
    case 'memo':
    case 'tail':
    case 'child':
    case 'view':
      return true
    case 'attempt':
      return entry.purpose === 'generated'
    case 'message':
      return entry.message.role === 'system'
    default:
      return false
  }
}

function isFailed(entry: Entry): boolean {
  return entry.type === 'attempt' && entry.outcome === 'discarded'
}

/** The word that something of the inbox was taken: nothing waits for it. */
function isTaken(state: LogState, entry: Entry): boolean {
  return entry.type === 'resolved' && !state.waits.has(entry.token)
}

function isClosingError({ message, runId, step }: EntryOf<'message'>): boolean {
  return message.role === 'error' && message.id === positionId(runId, step, 'message', 'error')
}

/** The loop itself fails runs for two reasons, and where a model failed, which stands before. */
function isFromOutside({ status, error }: EntryOf<'run', 'ended'>): boolean {
  return status === 'failed' && error?.code !== 'max-steps' && error?.code !== 'answer-denied'
}

/** Why a loop is left. */
class Leaving extends Error {
  readonly why: 'end' | 'resumed' | 'closed' | ReplayDifference
  constructor(why: Leaving['why']) {
    super('The replay leaves this loop.')
    this.why = why
  }
}

async function replayRun(plan: AgentPlan, tape: Tape, maxSteps: number): Promise<ReplayDifference | undefined> {
  const left = new AbortController()
  const loop = loopOf(tape.state, plan, maxSteps, 0, left.signal)
  let status: RunStatus
  try {
    status = await drive(loop, handlersOf(tape))
  } catch (thrown) {
    if (!(thrown instanceof Leaving)) {
      const entry = nextOf(tape)
      if (!entry) return undefined
      if (!tape.isClosing())
        return { offset: entry.offset, expected: entry, got: `failed: ${toErrorInfo(thrown).message}` }
      tape.takeClosing()
      return undefined
    }
    const { why } = thrown
    if (typeof why === 'object') return why
    if (why === 'resumed') {
      tape.take()
      tape.takeLookups()
    }
    if (why === 'closed') tape.takeClosing()
    if (why === 'end') while (tape.entry()) tape.take()
    return undefined
  } finally {
    left.abort()
    await loop.return('aborted')
  }
  const entry = tape.entry()
  const same = tape.state.run?.status === status
  return same || !entry ? undefined : { offset: entry.offset, expected: entry, got: `the end: ${status}` }
}

function nextOf(tape: Tape): Entry | undefined {
  tape.takeAside()
  return tape.entry()
}

/** What is recorded next, unless the loop has to be left there. */
function due(tape: Tape): Entry {
  const entry = nextOf(tape)
  if (!entry) throw new Leaving('end')
  if (entry.type === 'run' && entry.op === 'resumed') throw new Leaving('resumed')
  return entry
}

function differs(expected: Entry, got: NewEntry | string): Leaving {
  return new Leaving({ offset: expected.offset, expected, got })
}

function handlersOf(tape: Tape): LoopHandlers {
  const { state } = tape
  return {
    input() {
      const entry = due(tape)
      if (tape.isClosing()) throw new Leaving('closed')
      return isArrival(state, entry) ? arrivals(tape) : []
    },

    model() {
      tape.takeFailed()
      const entry = due(tape)
      if (tape.isClosing()) throw new Leaving('closed')
      const answered = answerAt(tape, entry)
      if (!answered) throw differs(entry, 'a call of the model')
      return answered
    },

    decide({ calls }) {
      due(tape)
      return calls.map((call): Verdict => {
        const decisions = state.run?.calls.get(call.callId)?.decisions ?? 0
        const decided = tape.find(`${call.callId}/decided/${decisions + 1}`)
        if (decided?.past === false && decided.entry.type === 'call' && decided.entry.op === 'decided') {
          return verdictOf(tape, call, decided.entry, decisions)
        }
        if (tape.isClosing()) throw new Leaving('closed')
        // The log does not tell: whatever it is, the entry that comes of it is not there.
        return { deny: 'Nobody judged this call.' }
      })
    },

    execute({ calls }) {
      const open = new Set(calls.map(({ callId }) => callId))
      const isOpen = (callId: string): boolean => {
        const stage = state.run?.calls.get(callId)?.stage
        return stage !== undefined && stage !== 'settled' && stage !== 'waiting' && stage !== 'parked'
      }
      for (const { callId } of calls) {
        while (isOpen(callId)) {
          const entry = due(tape)
          const about = calledBy(state, entry)
          if (!isInside(state, entry) && (about === undefined || !open.has(about))) {
            throw tape.isClosing() ? new Leaving('closed') : differs(entry, `the result of ${callId}`)
          }
          tape.take()
        }
      }
      // Composites that were parked before may have gone on as well.
      tape.takeInside()
      return []
    },

    wait() {
      const givenUp = takeGivenUp(tape)
      const entry = due(tape)
      if (givenUp && !isByClock(entry)) return {}
      if (entry.type === 'run' && entry.op === 'suspended') return 'suspend'
      if (tape.isClosing()) throw new Leaving('closed')
      const decisions = decisionsAt(tape)
      if (!decisions) throw differs(entry, 'a wait')
      return decisions
    },

    append({ entries }) {
      for (const got of entries) compareNext(tape, got)
      return { offset: offsetOf(state) }
    },
  }
}

/** What happens within composites, or goes through the log to and from their children: nobody asks the loop for it. */
function isInside(state: LogState, entry: Entry): boolean {
  const { run, waits } = state
  if (isTaken(state, entry)) return true
  const wait = entry.type === 'resolved' ? waits.get(entry.token) : entry.type === 'wait' ? entry : undefined
  if (wait?.child) return true
  if (wait) return wait.callId !== undefined && (wait.parks === true || run?.bridged.has(wait.callId) === true)
  if (entry.type !== 'call' || !run) return false
  if (entry.op === 'planned' || entry.op === 'parked' || run.bridged.has(entry.callId)) return true
  const stage = run.calls.get(entry.callId)?.stage
  return entry.op === 'settled' && (stage === 'parked' || stage === 'woken')
}

/** The call that an entry is about. */
function calledBy({ waits }: LogState, entry: Entry): string | undefined {
  if (entry.type === 'call' || entry.type === 'wait') return entry.callId
  return entry.type === 'resolved' ? waits.get(entry.token)?.callId : undefined
}

function isByClock(entry: Entry): boolean {
  return entry.type === 'resolved' && entry.by === clock
}

/** Passes over the waits that nobody answered in time: whoever drives the loop gives them up, but for approvals. */
function takeGivenUp(tape: Tape): boolean {
  const { waits } = tape.state
  let any = false
  for (;;) {
    const entry = nextOf(tape)
    if (entry?.type !== 'resolved' || !isByClock(entry)) return any
    const wait = waits.get(entry.token)
    if (!wait || wait.kind === 'approval') return any
    tape.take()
    any = true
  }
}

/** The next recorded entry has to be the one that the loop writes. */
function compareNext(tape: Tape, got: NewEntry): void {
  const known = got.type === 'run' ? undefined : tape.find(got.id)
  if (known?.past) {
    if (!isSame(known.entry, got)) throw differs(known.entry, got)
    return
  }
  for (let entry = tape.entry(); entry; entry = tape.entry()) {
    if (isSame(entry, got)) {
      tape.take()
      return
    }
    if (entry.id !== got.id && isAside(entry)) tape.take()
    else if (entry.type === 'run' && entry.op === 'resumed') throw new Leaving('resumed')
    else throw tape.isClosing() ? new Leaving('closed') : differs(entry, got)
  }
  throw new Leaving('end')
}

function isSame(recorded: Entry, got: NewEntry): boolean {
  return (
    recorded.type === got.type && (recorded === got || canonicalJson(essence(recorded)) === canonicalJson(essence(got)))
  )
}

/** An entry without times, and what is made from them or from who wrote it. */
function essence(entry: NewEntry): Json {
  const {
    offset: _,
    at: __,
    fence: ___,
    durationMs: ____,
    deadline: _____,
    ...rest
  }: Record<string, unknown> = { ...entry }
  // Ids of starts and ends count entries, of which hooks may write some in between.
  if (entry.type === 'run') delete rest['id']
  if (entry.type === 'message') rest['message'] = { ...entry.message, createdAt: 0 }
  return toJson(rest)
}

function isArrival(state: LogState, entry: Entry): boolean {
  return isTaken(state, entry) || (entry.type === 'message' && (entry.via === 'steer' || entry.via === 'queue'))
}

/** What came in together. */
function arrivals(tape: Tape): readonly NewEntry[] {
  const entries: Entry[] = []
  let arrived = 0
  for (let entry = tape.entry(); entry; entry = tape.entry(entries.length)) {
    const arrives = isArrival(tape.state, entry)
    if (!arrives && !isAside(entry)) break
    entries.push(entry)
    if (arrives) arrived = entries.length
  }
  return entries.slice(0, arrived)
}

function answerAt(tape: Tape, entry: Entry): LoopAnswers['model'] | undefined {
  if (entry.type === 'message' && entry.message.role === 'error' && entry.via === 'model') {
    return { failure: failureAt(tape, entry) }
  }
  const spoken = tape.entry(1)
  if (entry.type === 'attempt' && !spoken) throw new Leaving('end')
  if (entry.type !== 'attempt' || spoken?.type !== 'message' || spoken.via !== 'model') return undefined
  const { usage, finishReason = 'other', model, attempt, cost } = entry
  const { message, held, unsaid } = spoken
  const follows = tape.entry(2)
  const ask = held === undefined ? undefined : follows?.type === 'wait' ? askOf(follows) : { reason: '' }
  const repair = follows && repairAt(follows, message)
  const answered: ModelAnswered = { message, usage, finishReason, model, attempt, ...(cost !== undefined && { cost }) }
  return { ...answered, ...(ask && { ask }), ...(repair && { repair, ...(unsaid && { unsaid }) }) }
}

function failureAt(tape: Tape, { message, runId, step }: EntryOf<'message'>): FinalFailure {
  const ended = tape.entry(1)
  const known = ended?.type === 'run' && ended.op === 'ended' ? ended.error : undefined
  const error = known ?? message.error ?? { code: 'unexpected', message: '' }
  const prefix = positionId(runId, step, 'message', '')
  const attempt = message.id.startsWith(prefix) ? Number(message.id.slice(prefix.length)) : Number.NaN
  const whole = message.label !== undefined || message.partial === true || Number.isNaN(attempt)
  return {
    class: 'unknown',
    model: '',
    attempt: Number.isNaN(attempt) ? 1 : attempt,
    effects: false,
    error,
    ...(whole && { partial: message }),
  }
}

/** What the model was told at once that its answer lacks. */
function repairAt(follows: Entry, answer: EntryOf<'message'>['message']): Repair | undefined {
  if (follows.type === 'message' && follows.via === 'system') {
    const { id, content, label } = follows.message
    const output = positionId(follows.runId, follows.step, 'message', 'output')
    if (id !== output && id !== positionId(follows.runId, follows.step, 'message', 'repair')) return undefined
    return { content, ...(label && { label }), ...(id === output && { of: 'output' }) }
  }
  if (follows.type !== 'call' || follows.op !== 'settled' || follows.outcome !== 'skipped' || follows.via !== 'hook') {
    return undefined
  }
  const own = answer.content.some((part) => part.type === 'tool-call' && part.callId === follows.callId)
  return own && follows.output.type === 'error-text' ? { content: follows.output.value } : undefined
}

function verdictOf(
  tape: Tape,
  call: Parameters<LoopHandlers['decide']>[0]['calls'][number],
  { outcome, by, args, reason = '' }: EntryOf<'call', 'decided'>,
  decisions: number,
): Verdict {
  switch (outcome) {
    case 'proceed': {
      const crossed = tape.find(`${call.callId}/handoff`)?.entry
      if (crossed?.type !== 'handoff') return { proceed: args, by }
      // What crossed is filtered again: the hash tells whether it is the same.
      return { proceed: args, by, crossing: { filter: crossed.filter, ...(crossed.with && { with: crossed.with }) } }
    }
    case 'deny': {
      const settled = tape.find(`${call.callId}/settled`)?.entry
      const code = settled?.type === 'call' && settled.op === 'settled' ? settled.error?.code : undefined
      return { deny: reason, by, ...(code !== undefined && { code }) }
    }
    case 'ask': {
      const wait = tape.find(`${call.callId}/approval/${decisions + 1}`)?.entry
      return { ask: wait?.type === 'wait' ? askOf(wait) : { reason }, args, by }
    }
    case 'result': {
      const settled = tape.find(`${call.callId}/settled`)?.entry
      if (settled?.type !== 'call' || settled.op !== 'settled') {
        const output = { type: 'text', value: '' } as const
        return { result: { ...call, outcome: 'ok', via: 'hook', output }, by }
      }
      const { outcome: ended, via, output, label, fields, details, error } = settled
      const more = { ...(fields && { fields }), ...(details !== undefined && { details }) }
      return { result: { ...call, outcome: ended, via, output, label, ...more }, by, ...(error && { error }) }
    }
    default:
      return outcome satisfies never
  }
}

function askOf({
  reason = '',
  evidence,
  deadline,
  at,
  sticky,
}: EntryOf<'wait'>): Extract<Verdict, { ask: unknown }>['ask'] {
  return {
    reason,
    ...(evidence !== undefined && { evidence }),
    ...(deadline !== undefined && { expiresInMs: deadline - at }),
    ...(sticky && { sticky }),
  }
}

/** What was decided together. */
function decisionsAt(tape: Tape): Decisions | undefined {
  const approvals: ApprovalDecision[] = []
  const toolResults: RemoteResult[] = []
  const uncertain: NonNullable<Decisions['uncertain']>[number][] = []
  const inputs: { id: string; value: Json }[] = []
  let count = 0
  for (let entry = tape.entry(); entry?.type === 'resolved'; entry = tape.entry(count)) {
    const { token, value, by } = entry
    const wait = tape.state.waits.get(token)
    if (!wait) break
    count++
    const { kind, callId = token } = wait
    if (kind === 'approval') approvals.push(readVerdict(entry))
    else if (kind === 'remote') toolResults.push({ callId, output: value, by })
    else if (kind === 'uncertain') {
      const { decision, output }: Record<string, unknown> = isRecord(value) ? value : {}
      const said = decision === 'retry' || decision === 'done' ? decision : 'fail'
      uncertain.push({ callId, decision: said, ...(output !== undefined && { output }), by })
    } else inputs.push({ id: token, value })
  }
  return count > 0 ? { approvals, toolResults, uncertain, inputs } : undefined
}

function wrongAgent(of: string, name: string): ProvostError {
  return new ProvostError('wrong-agent', `The session has a run of agent ${of}, not of ${name}.`, {
    hint: 'Replay it with the agent that ran it.',
  })
}
