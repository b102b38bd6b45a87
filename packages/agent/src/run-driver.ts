import { setImmediate as breath } from 'node:timers/promises'

import type {
  ApprovalDecision,
  Decisions,
  Entry,
  EntryOf,
  Input,
  Label,
  MaybePromise,
  Message,
  NewEntry,
  PendingApproval,
  RunState,
  RunStatus,
} from '@provost/core'
import { isPromise, joinLabels, labelOf, positionId, ProvostError, textOf } from '@provost/core'

import { expiredWaits, nextDeadline, timerMs } from './deadline.ts'
import { expiredEntry, resumedEntry, takenEntry } from './draft.ts'
import { endRun } from './end-run.ts'
import { newEntry, placeOf } from './entry.ts'
import type { Place } from './entry.ts'
import { executeCalls } from './execute.ts'
import { checkActive } from './handoff/active-agent.ts'
import { enterMessages, messagesOf } from './input.ts'
import { judgeCalls } from './judge.ts'
import { readLog } from './known-log.ts'
import { holdLease } from './lease.ts'
import type { LogState, RunFold } from './log-state.ts'
import { offsetOf } from './log-state.ts'
import { lookUpCalls } from './look-up.ts'
import type { Loop, LoopAnswers, LoopAsk, LoopHandlers } from './loop.ts'
import { answerAsk, drive, loopOf } from './loop.ts'
import type { Mailbox, Sent } from './mailbox.ts'
import { messageOf } from './message-init.ts'
import { askModel } from './model-step.ts'
import { next } from './position.ts'
import { onItsWay, returnLetters } from './post.ts'
import { endPayload } from './projection.ts'
import { deliveredDecisions, dueDecisions, resolvedEntries } from './resolution.ts'
import { around, heedAbort, hookFailed, report, RunEnding } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'
import { checkAgent, checkSignature } from './run-state.ts'
import type { RunStart } from './run.ts'
import { sentBy } from './sent-by.ts'
import { waitExpired } from './session/session-error.ts'

/**
 * Drives a run in this process until it ends or is suspended.
 *
 * @throws RunEnding, or whatever the store throws: the run then has to be closed.
 */
export async function driveRun<Output>(scope: RunScope, start: RunStart<Output>): Promise<RunStatus> {
  const { plan, id } = scope
  const op = { kind: 'run', id, runId: id, agent: plan.name } as const
  if (!('resume' in start)) {
    const started = startedRun(scope, start.token)
    return around(scope, op, async () => {
      await begin(scope, started, start.input, start.token)
      return driveLoop(scope)
    })
  }
  await claim(scope, start)
  return around(scope, { ...op, resumed: true }, async () => {
    await resume(scope)
    return driveLoop(scope)
  })
}

async function driveLoop(scope: RunScope): Promise<RunStatus> {
  const { entry, given } = scope
  const loop = loopOf(scope.state, entry, given.maxSteps ?? entry.maxSteps, scope.journal.fence, scope.signal)
  const handlers = handlersOf(scope)
  const { plan } = scope
  const plain = scope.watchers.around.step.length === 0 && plan.handoffs.size === 0
  try {
    return await (plain ? drive(loop, handlers) : driveSteps(scope, loop, handlers))
  } finally {
    // An orchestrator hears that the run is over; the loop alone has nobody to tell.
    if (entry.orchestrator !== undefined || entry.handoffs.size > 0) await loop.return('aborted')
  }
}

function handlersOf(scope: RunScope): LoopHandlers {
  const { journal } = scope
  return {
    input: ({ at }) => arrivals(scope, at),
    model: ({ options }) => askModel(scope, options),
    decide: ({ calls }) => judgeCalls(scope, calls),
    execute: ({ calls }) => executeCalls(scope, calls),
    wait: ({ pending }) => decisionsOn(scope, pending.approvals),
    append: async ({ entries }) => {
      const written = await (entries.at(-1)?.type === 'run' ? endRun(scope, entries) : journal.append(entries))
      // What was said stands in the log now.
      scope.partial = undefined
      scope.spent = undefined
      if (scope.prepared !== scope.plan) await prepareAgent(scope, placeOf(scope.state))
      return written
    },
    emit: ({ name, data }) => journal.emit('extension', { name, data }, scope.step),
  }
}

/** The same drive with each step inside the `around` hooks, so that its work runs in their async context. */
async function driveSteps(scope: RunScope, loop: Loop, handlers: LoopHandlers): Promise<RunStatus> {
  let turn = await loop.next()
  while (!turn.done) {
    if (!beginsStep(turn.value)) {
      turn = await loop.next(await answerAsk(turn.value, handlers))
      continue
    }
    const step = (scope.state.run?.step ?? 0) + (turn.value.ask === 'model' ? 1 : 0)
    const op = { kind: 'step', id: `${scope.id}/${step}`, parent: scope.id, step } as const
    let at: IteratorResult<LoopAsk, RunStatus> = turn
    await around(scope, op, async () => {
      while (!at.done && at.value.ask !== 'input') at = await loop.next(await answerAsk(at.value, handlers))
    })
    turn = at
  }
  return turn.value
}

function beginsStep({ ask }: LoopAsk): boolean {
  return ask === 'model' || ask === 'decide' || ask === 'execute'
}

/** What tells of a new run, once nothing stands in its way. */
function startedRun(scope: RunScope, token: string | undefined): NewEntry {
  const { plan, given, id, state, lineage } = scope
  checkActive(scope.entry, state)
  const place: Place = { runId: id, step: 0, agent: plan.name }
  // A session that another run left open is not gone on with by accident.
  if (state.run && (state.run.status === 'running' || state.run.status === 'suspended')) {
    throw new ProvostError('session-open', `Session ${scope.sessionId} has a ${state.run.status} run.`, {
      hint: 'Resume that run from its state before starting another.',
    })
  }
  // Somebody else was faster: what is in the inbox is said once.
  if (token !== undefined && state.resolved.has(token)) {
    throw new ProvostError('already-taken', 'What this run was to begin with has entered the session already.', {
      hint: 'There is nothing to do.',
    })
  }
  const started = newEntry(place, `${id}/started`, {
    type: 'run',
    op: 'started',
    manifest: plan.manifest,
    ...(given.principal && { principal: given.principal }),
    ...(lineage && { parent: { log: lineage.parentLog, runId: lineage.parents[0] ?? '' } }),
    ...(lineage?.grant && { grant: lineage.grant }),
  })
  // Should its input not get in, the log tells of the run all the same.
  scope.claim = [started]
  return started
}

/** Begins a run: who runs, with what, and the messages it starts with, in one append. */
async function begin(scope: RunScope, started: NewEntry, input: Input, token: string | undefined): Promise<void> {
  const { plan, id, journal, lineage } = scope
  const place: Place = { runId: id, step: 0, agent: plan.name }
  const key = positionId(id, 0, 'message', 'input')
  const said = messagesOf(input, key, plan.name, takenIds(scope))
  const messages = lineage ? said.map((message) => labelledWith(message, lineage.label)) : said
  const entered = await enterMessages(scope, messages, 'input', place, key)
  scope.claim = [started, ...(token === undefined ? [] : [takenEntry(place, token)]), ...entered]
  await journal.begin(scope.claim)
  scope.claim = []
  await prepareAgent(scope, place)
}

/** What a child is given carries what its spawner had been told. */
function labelledWith(message: Message, label: Label): Message {
  return { ...message, label: joinLabels(labelOf(message), label) }
}

/** Ids that the session knows, or that this run will make, are not for messages from outside. */
function takenIds({ state, id }: RunScope): (messageId: string) => boolean {
  let known: Set<string> | undefined
  return (messageId) => {
    // Few inputs bring ids of their own: only for these are the session's looked up.
    known ??= new Set(state.messages.map((message) => message.id))
    return messageId.startsWith(`${id}/`) || known.has(messageId)
  }
}

/** Makes the active agent ready to go on: the first one, or one that the run was handed over to. */
async function prepareAgent(scope: RunScope, place: Place): Promise<void> {
  const { plan } = scope
  const ready = plan.ready()
  if (isPromise(ready)) await ready
  // What was made for another agent holds that one's prompt.
  scope.prompts.clear()
  scope.instructions = plan.instructions ?? ''
  scope.hear()
  await prepareSystem(scope, place)
  scope.prepared = plan
}

/** Asks once a session for what extensions add to the system prompt, and once a run for the agent's own. */
async function prepareSystem(scope: RunScope, place: Place): Promise<void> {
  const { plan, state, journal } = scope
  const ctx = (): ReturnType<RunScope['contextFor']> => scope.contextFor(plan.self)
  if (plan.instruct) {
    const { instruct } = plan
    try {
      scope.instructions = await ctx().memo('instructions', () => instruct(ctx()))
    } catch (thrown) {
      throw hookFailed(scope, plan.name, 'instructions', thrown)
    }
  }
  const hooks = plan.hooks['session.start']
  const key = `session.start/${plan.name}`
  if (hooks.length === 0 || state.memos.has(key)) return
  const entries: NewEntry[] = []
  for (const { extension, hook } of hooks) {
    try {
      const answer = await hook(scope.contextFor(extension))
      const inits = answer ? (typeof answer === 'string' ? [{ content: answer }] : answer) : []
      for (const [index, init] of inits.entries()) {
        const id = positionId(place.runId, place.step, `system/${extension.name}`, index)
        const message = messageOf({ ...init, role: 'system' }, id, undefined, plan.name)
        entries.push(newEntry(place, id, { type: 'message', message, via: 'system' }))
      }
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'session.start', thrown)
    }
  }
  await journal.append([...entries, newEntry(place, `${place.runId}/${key}`, { type: 'memo', key, value: true })])
}

/** Finds the run to go on with, and checks that it is this one's to go on with. */
async function claim(scope: RunScope, start: Extract<RunStart<unknown>, { resume: RunState }>): Promise<void> {
  const from = start.resume
  const { entry, state, given, mailbox } = scope
  checkAgent(from, entry)
  if (!start.own) checkSignature(from, entry)
  await importEntries(scope, from.entries ?? [])
  for (const [log, entries] of Object.entries(from.children ?? {})) await importChild(scope, log, entries)
  checkActive(entry, state)
  const { run } = state
  if (!run || run.id !== from.cursor.runId) {
    throw new ProvostError('unknown-run', `Session ${scope.sessionId} does not stand at run ${from.cursor.runId}.`, {
      hint: 'Give the agent the store that the run was made with, and resume the last run of its session.',
    })
  }
  scope.step = run.step
  const { approvals, toolResults, uncertain, inputs } = given
  const decisions: Decisions = {
    ...(approvals && { approvals }),
    ...(toolResults && { toolResults }),
    ...(uncertain && { uncertain }),
    ...(inputs && { inputs }),
  }
  // Where the run waits already, a decision on nothing is a mistake: it is said before anything is written.
  if (next(state) === 'wait') resolvedEntries(state, decisions)
  mailbox.decisions.push(decisions)
}

/** A run that goes on: from the log if the state is behind it. */
async function resume(scope: RunScope): Promise<void> {
  const { journal, state } = scope
  const { run } = state
  if (!run) return
  if (run.status === 'completed') {
    // Nothing happens any more: the stream says so once more.
    journal.emit('agent.end', endPayload(state))
    return
  }
  scope.resumedFrom = offsetOf(state)
  await journal.append([resumedEntry(state)])
  scope.claim = []
  if (!hasInput(state, run)) throw new RunEnding('failed', noInput)
  await prepareAgent(scope, placeOf(state))
  await lookUpCalls(scope)
}

/** Whether anything was said to a run: a hook may have stopped its input at the door. */
function hasInput(state: LogState, run: RunFold): boolean {
  return state.messages.slice(run.firstMessage).some(({ role }) => role !== 'error' && role !== 'aborted')
}

const noInput = {
  code: 'no-input',
  message: 'The run has nothing to go on from: its input was never let in.',
  hint: 'Start another run.',
}

/** Brings the entries of a state into the log, which must have begun in the same way. */
async function importEntries({ state, journal, sessionId }: RunScope, entries: readonly Entry[]): Promise<void> {
  const known = state.entries.length
  if (entries.slice(0, known).some((entry, index) => entry.id !== state.entries[index]?.id)) {
    throw new ProvostError('diverged-state', `Session ${sessionId} went another way than the state to resume.`, {
      hint: 'Resume from the log: give a state that was taken from this store.',
    })
  }
  if (entries.length > known) await journal.copy(entries.slice(known))
}

/** What arrived since: steers before a step, and where the run would end what was queued too. */
function arrivals(scope: RunScope, at: 'step' | 'end'): MaybePromise<LoopAnswers['input']> {
  const { mailbox, given } = scope
  heedAbort(scope)
  if (mailbox.draining) {
    // A last answer that was let end is the end; nobody has to be told that it was cut off.
    if (at === 'end' && mailbox.steers.length + mailbox.followUps.length === 0) return []
    throw new RunEnding('aborted')
  }
  const awaited =
    breathes(scope) ||
    mailbox.steers.length > 0 ||
    mailbox.letters.length > 0 ||
    given.getSteering !== undefined ||
    (at === 'end' && (mailbox.followUps.length > 0 || given.getFollowUp !== undefined || scope.tree.letters.size > 0))
  return awaited ? collectArrivals(scope, at) : []
}

/** Where models and tools answer at once, timers and I/O of the process get their turn all the same, now and then. */
function breathes({ state }: RunScope): boolean {
  return (state.run?.step ?? 0) % 64 === 63
}

async function collectArrivals(scope: RunScope, at: 'step' | 'end'): Promise<LoopAnswers['input']> {
  const { mailbox, given } = scope
  if (breathes(scope)) await breath()
  // What was said to a child while it went on is not lost for being underway in the logs above.
  if (at === 'end') await unlessAborted(scope, onItsWay(scope.tree, scope.id))
  heedAbort(scope)
  const steering = given.getSteering ? sentBy(await given.getSteering(), 'getSteering') : []
  const steers = [...mailbox.steers.splice(0), ...steering]
  const lost = mailbox.letters.length > 0 ? returnLetters(scope) : []
  const steered = [...lost, ...(steers.length > 0 ? await entering(scope, steers, 'steer') : [])]
  if (steered.length > 0 || at === 'step') return steered
  const following =
    mailbox.followUps.length === 0 && given.getFollowUp ? sentBy(await given.getFollowUp(), 'getFollowUp') : []
  const queued = [...mailbox.followUps.splice(0), ...following]
  if (queued.length === 0) return []
  const entries = await entering(scope, queued, 'queue')
  for (const entry of entries) {
    if (entry.type !== 'message') continue
    const { message } = entry
    scope.journal.emit('agent.followup.queued', { text: textOf(message), messageId: message.id })
  }
  return entries
}

async function unlessAborted({ signal }: RunScope, work: Promise<unknown> | undefined): Promise<void> {
  if (!work || signal.aborted) return
  const aborted = Promise.withResolvers<void>()
  const end = (): void => aborted.resolve()
  signal.addEventListener('abort', end, { once: true })
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', end)
}

async function entering(scope: RunScope, all: readonly Sent[], via: 'steer' | 'queue'): Promise<readonly NewEntry[]> {
  const { plan, state } = scope
  const place = placeOf(state)
  const entries: NewEntry[] = []
  for (const [index, { input, token, by, signal }] of all.entries()) {
    if (token !== undefined && state.resolved.has(token)) continue
    // In one append with what it says: it is taken once, whenever the process dies.
    if (token !== undefined) entries.push(takenEntry(place, token, by))
    if (signal?.aborted) continue
    const key = positionId(place.runId, place.step, `message/${via}`, `${state.messages.length}.${index}`)
    try {
      const messages = messagesOf(input, key, plan.name, takenIds(scope))
      entries.push(...(await enterMessages(scope, messages, via, place, key)))
    } catch (thrown) {
      // What anybody may have put into the inbox does not end the run.
      if (token === undefined || thrown instanceof RunEnding) throw thrown
      report(scope, thrown, { kind: 'listener', name: 'inbox' })
    }
  }
  return entries
}

/** The log of a child, where this store has none of it. */
async function importChild({ plan, sessionId }: RunScope, log: string, entries: readonly Entry[]): Promise<void> {
  if (!log.startsWith(`${sessionId}/child/`)) throw foreignChild(log)
  const { store } = plan
  if ((await readLog(store, log)).length > 0) return
  const lease = await holdLease(store, log, plan.leaseMs)
  if (!lease) return
  try {
    await store.append(log, entries, { after: 0, fence: lease.fence })
  } finally {
    await lease.release()
  }
}

function foreignChild(log: string): ProvostError {
  return new ProvostError('diverged-state', `The state has a log ${log.slice(0, 200)}, which is none of its session.`, {
    hint: 'Pass what JSON.stringify(result.state) wrote, unchanged.',
  })
}

/** Somebody's word on what the run waits for: what came in time, then the clock's, then whoever can be asked in process. */
async function decisionsOn(scope: RunScope, approvals: readonly PendingApproval[]): Promise<Decisions | 'suspend'> {
  const { mailbox, given, state } = scope
  // Before it pauses, a run looks for what came a moment ago; before it gives somebody up, for what came in time.
  if (scope.inbox && (!hasDue(scope) || expiredWaits(state).length > 0)) {
    await Promise.all(mailbox.arriving)
    await scope.inbox.sync()
  }
  const delivered = deliveredDecisions(state, mailbox.deliveries)
  if (delivered) return delivered
  const over = expiredWaits(state)
  if (over.length > 0) return giveUp(scope, over)
  const due = takeDue(scope)
  if (due) return due
  if (scope.signal.aborted || mailbox.draining) {
    if (scope.pendingPolicy() === 'hold') return 'suspend'
    throw new RunEnding('aborted')
  }
  const decided: ApprovalDecision[] = []
  let again = false
  if (given.onApproval) {
    for (const approval of approvals) {
      const decision = await askInProcess(scope, approval)
      if (decision === 'look-again') {
        again = true
        break
      }
      if (decision) decided.push(decision)
    }
  }
  if (decided.length > 0) return { approvals: decided }
  if (again) return {}
  const meanwhile = takeDue(scope)
  if (meanwhile) return meanwhile
  const ending = mailbox.draining || scope.signal.aborted
  if (ending && scope.pendingPolicy() !== 'hold') throw new RunEnding('aborted')
  return 'suspend'
}

/** Nobody answered in time: calls that wait for a human are denied, those that wait for a result end with a timeout. */
async function giveUp(scope: RunScope, over: readonly EntryOf<'wait'>[]): Promise<Decisions> {
  const { state, journal, mailbox } = scope
  for (const wait of over) {
    if (!answered(mailbox, wait)) continue
    mailbox.deliveries.delete(wait.token)
    report(scope, waitExpired([wait.token]), { kind: 'listener', name: 'inbox' })
  }
  const unanswered = over.filter(({ kind }) => kind !== 'approval')
  if (unanswered.length > 0) await journal.append(unanswered.map((wait) => expiredEntry(state, wait)))
  return { approvals: over.filter(({ kind }) => kind === 'approval').map(({ token }) => overdue(token)) }
}

function answered({ deliveries, decisions }: Mailbox, { token, callId }: EntryOf<'wait'>): boolean {
  if (deliveries.has(token)) return true
  return decisions.some(
    ({ approvals, toolResults }) =>
      approvals?.some(({ id }) => id === token) || toolResults?.some((result) => result.callId === callId),
  )
}

/** Whether somebody has decided on what is waited for. */
function hasDue({ state, mailbox }: RunScope): boolean {
  for (const token of mailbox.deliveries.keys()) if (state.waits.has(token)) return true
  return mailbox.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
}

/** The first decisions of the mailbox that something waits for; those that came too early stay in it. */
function takeDue({ state, mailbox }: RunScope): Decisions | undefined {
  const delivered = deliveredDecisions(state, mailbox.deliveries)
  if (delivered) return delivered
  for (const [index, decisions] of mailbox.decisions.entries()) {
    const { due, early } = dueDecisions(state, decisions)
    if (!due) continue
    mailbox.decisions.splice(index, 1, ...(early ? [early] : []))
    return due
  }
  return undefined
}

function isOver({ expiresAt = Number.POSITIVE_INFINITY }: PendingApproval): boolean {
  return expiresAt <= Date.now()
}

function overdue(id: string): ApprovalDecision {
  return { id, decision: 'deny', by: 'deadline', reason: 'Nobody decided in time.' }
}

async function askInProcess(
  scope: RunScope,
  approval: PendingApproval,
): Promise<ApprovalDecision | 'look-again' | undefined> {
  const { asked } = scope
  const { id } = approval
  try {
    const answer = asked.get(id) ?? scope.given.onApproval?.(approval)
    if (isPromise(answer)) asked.set(id, answer)
    const said = isPromise(answer) ? await inTime(scope, answer) : answer
    if (isOver(approval)) return overdue(id)
    if (said === 'look-again') return said
    asked.delete(id)
    if (said === undefined) return undefined
    return { by: 'onApproval', ...(typeof said === 'string' ? { decision: said } : said), id }
  } catch (thrown) {
    asked.delete(id)
    report(scope, thrown, { kind: 'listener', name: 'onApproval' })
    return undefined
  }
}

/**
 * The answer; or none because the run is to end; or the word to look again, where somebody else has decided something or
 * the time of something is over before.
 */
async function inTime<T>(scope: RunScope, answer: PromiseLike<T>): Promise<T | 'look-again' | undefined> {
  const { signal, mailbox, state } = scope
  const elsewhere = Promise.withResolvers<'look-again'>()
  const ended = Promise.withResolvers<undefined>()
  const look = (): void => {
    if (hasDue(scope)) elsewhere.resolve('look-again')
  }
  const end = (): void => ended.resolve(undefined)
  const deadline = nextDeadline(state)
  const timer = Number.isFinite(deadline)
    ? setTimeout(() => elsewhere.resolve('look-again'), timerMs(deadline))
    : undefined
  mailbox.watchers.add(look)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  look()
  try {
    return await Promise.race([elsewhere.promise, answer, mailbox.drained.promise.then(() => undefined), ended.promise])
  } finally {
    mailbox.watchers.delete(look)
    signal.removeEventListener('abort', end)
    clearTimeout(timer)
  }
}
