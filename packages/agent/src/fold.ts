import type { ApprovalDecision, Entry, EntryOf, Message, ToolCallPart, ToolResultPart } from '@provost/core'
import {
  addUsage,
  assertNever,
  deepFreeze,
  fillLabel,
  isRecord,
  joinLabels,
  labelOf,
  positionId,
  toJson,
  untrustedLabel,
} from '@provost/core'

import { applyAnswer as answerBridge, labelOfSettled, planBridged, wake } from './bridge-fold.ts'
import { answerChild, applyChild, applyLetter, leaveChildren } from './child-fold.ts'
import { openingView, viewAtStep } from './handoff/crossing.ts'
import { callOf, emptyLog } from './log-state.ts'
import type { Delivered, CallState, RunFold, LogState } from './log-state.ts'
import { keepApproval } from './standing-approval.ts'
import { addAttempt } from './usage-report.ts'

/** The state that a log's entries come to. */
export function foldLog(entries: Iterable<Entry>): LogState {
  const state = emptyLog()
  for (const entry of entries) applyEntry(state, entry)
  return state
}

/** Brings a state up to date with one more entry. */
export function applyEntry(state: LogState, entry: Entry): void {
  state.entries.push(entry)
  state.completed = undefined
  const { run } = state
  switch (entry.type) {
    case 'run':
      applyRun(state, entry)
      break
    case 'message':
      applyMessage(state, entry)
      break
    case 'attempt':
      if (run) applyAttempt(run, entry)
      break
    case 'call':
      if (run) applyCall(state, run, entry)
      break
    case 'wait':
      if (run) applyWait(state, run, entry)
      state.waits.set(entry.token, entry)
      break
    case 'resolved':
      applyResolved(state, entry)
      break
    case 'view':
      applyView(state, entry)
      break
    case 'memo':
      state.memos.set(entry.key, entry.value)
      if (run && entry.callId !== undefined) answerBridge(run, entry.callId, entry.key)
      break
    case 'tail':
      if (run && entry.with) run.tail.push(...entry.with)
      break
    case 'handoff':
      applyHandoff(state, entry)
      break
    case 'child':
      if (run) applyChild(state, run, entry)
      break
    case 'ext':
    case 'audit':
      break
    default:
      assertNever(entry)
  }
}

function applyRun(state: LogState, entry: Extract<Entry, { type: 'run' }>): void {
  const { run } = state
  switch (entry.op) {
    case 'started':
      // Another agent has taken the session: it has nothing of the former one's.
      if (run && run.manifest.agent !== entry.manifest.agent) state.lineage.length = 0
      state.agent = entry.agent
      state.run = {
        id: entry.runId,
        manifest: entry.manifest,
        ...(entry.principal && { principal: entry.principal }),
        startedAt: entry.at,
        status: 'running',
        step: 0,
        attempts: 0,
        calls: new Map(),
        openCalls: 0,
        bridged: new Map(),
        deferred: undefined,
        agents: [entry.agent],
        handoffs: 0,
        returns: 0,
        children: new Map(),
        isChild: entry.parent !== undefined,
        toolCalls: 0,
        answers: 0,
        activeMs: 0,
        since: entry.at,
        used: undefined,
        answer: undefined,
        candidate: undefined,
        lastAttempt: undefined,
        repairs: 0,
        tail: [],
        firstMessage: state.messages.length,
        usage: {},
        byModel: new Map(),
        output: undefined,
        error: undefined,
      }
      break
    case 'suspended':
      if (run) {
        run.status = 'suspended'
        run.activeMs += Math.max(0, entry.at - run.since)
      }
      break
    case 'resumed':
      if (run) {
        run.status = 'running'
        run.since = entry.at
        run.error = undefined
      }
      break
    case 'ended':
      if (run) {
        run.status = entry.status
        // Nobody waits any more for what an ended run asked.
        for (const [token, wait] of state.waits) settleWait(state, token, wait)
        state.waits.clear()
        if (entry.output !== undefined) run.output = entry.output
        if (entry.error) run.error = entry.error
      }
      break
    default:
      assertNever(entry)
  }
}

function applyMessage(state: LogState, entry: EntryOf<'message'>): void {
  const { message, via } = entry
  if (message.role === 'system') {
    const prelude = state.preludes.get(entry.agent)
    if (prelude) prelude.push(message)
    else state.preludes.set(entry.agent, [message])
    // A system prompt stands in front: the view changes from its start.
    state.viewVersion++
    state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
    return
  }
  const { run } = state
  if (via === 'model' && run) {
    // A step that was spoken in is over, even where no attempt at it stands in the log.
    run.step = Math.max(run.step, entry.step)
    if (entry.unsaid) state.unsaid.add(message.id)
    if (entry.held === undefined) applyAnswer(state, run, message)
    else run.candidate = { message, token: entry.held }
    return
  }
  say(state, message)
  // What comes from outside in the human's place is not the human's word.
  const own =
    message.role === 'user' &&
    via !== 'system' &&
    !(run?.isChild && via === 'input') &&
    message.label?.integrity !== 'untrusted'
  if (own) state.intent.push(message)
  if (!run) return
  if (message.id === positionId(run.id, entry.step, 'message', 'output')) run.repairs++
  run.answer = undefined
}

function applyAnswer(state: LogState, run: RunFold, message: Message): void {
  if (!isSilent(message)) say(state, message)
  run.attempts = 0
  run.answer = undefined
  if (message.role !== 'assistant') return
  run.used = undefined
  if (run.lastAttempt) state.writers.set(message, run.lastAttempt.model)
  openCalls(run, message)
  if (run.openCalls === 0) run.answer = message
}

/** Some models end without a word. The log tells of it; in a history that goes to a model it would be refused. */
export function isSilent({ role, content }: Message): boolean {
  return role === 'assistant' && content.every((part) => part.type === 'text' && part.text === '')
}

function say(state: LogState, message: Message): void {
  state.messages.push(message)
  state.view.push(message)
  state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
}

function openCalls(run: RunFold, message: Message): void {
  run.calls.clear()
  run.bridged.clear()
  run.deferred = undefined
  run.children.clear()
  const label = message.label ? fillLabel(message.label, untrustedLabel('assistant')) : labelOf(message)
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted) continue
    run.calls.set(part.callId, {
      part,
      label: joinLabels(label, part.label ? fillLabel(part.label, label) : label),
      stage: 'planned',
      args: part.input,
      decisions: 0,
      starts: 0,
      startedAt: 0,
    })
  }
  run.openCalls = run.calls.size
}

function applyAttempt(run: RunFold, entry: EntryOf<'attempt'>): void {
  addAttempt(run.byModel, entry)
  run.usage = addUsage(run.usage, entry.usage)
  if (entry.purpose === 'generated') return
  if (entry.outcome === 'answered') run.answers++
  run.step = entry.step
  run.lastAttempt = entry
  // Until its answer counts: one that a human refuses is followed by another attempt, not by the same one.
  run.attempts = entry.attempt
}

function applyCall(state: LogState, run: RunFold, entry: Extract<Entry, { type: 'call' }>): void {
  if (entry.op === 'planned') return planBridged(run, entry)
  const call = callOf(run, entry.callId)
  if (!call) return
  switch (entry.op) {
    case 'deferred':
      if (call.stage !== 'planned' || run.openCalls === 1) break
      call.stage = 'deferred'
      run.deferred = call
      break
    case 'decided':
      call.args = entry.args
      if (entry.argsHash !== undefined) call.argsHash = entry.argsHash
      if (entry.outcome === 'ask') call.askedBy = entry.by
      call.decisions++
      if (entry.outcome === 'proceed') run.toolCalls++
      if (entry.reason !== undefined) call.reason = entry.reason
      // `ask` is followed by its wait, `deny` and `result` by what they settle with.
      call.stage = entry.outcome === 'proceed' ? 'ready' : entry.outcome === 'ask' ? 'waiting' : 'answered'
      break
    case 'started':
      closeWaits(state, entry.callId, ({ kind, parks }) => kind === 'input' && !parks)
      call.stage = 'started'
      call.starts++
      call.startedAt = entry.at
      break
    case 'parked':
      if (call.stage === 'started' || call.stage === 'woken') call.stage = 'parked'
      break
    case 'settled':
      if (call.stage === 'settled') break
      closeWaits(state, entry.callId, ({ kind }) => kind === 'input' || call.parentCallId !== undefined)
      if (run.children.size > 0) leaveChildren(state, run, entry.callId)
      call.stage = 'settled'
      call.outcome = entry.outcome
      if (call.parentCallId !== undefined) {
        call.settled = entry
        answerBridge(run, call.parentCallId, entry.callId, labelOfSettled(entry))
        break
      }
      call.result = resultPart(call.part, entry)
      if (--run.openCalls === 0) state.completed = completeStep(state, run, entry)
      else if (run.openCalls === 1 && run.deferred?.stage === 'deferred') run.deferred.stage = 'planned'
      break
    default:
      assertNever(entry)
  }
}

function resultPart(part: ToolCallPart, entry: EntryOf<'call', 'settled'>): ToolResultPart {
  return {
    type: 'tool-result',
    callId: part.callId,
    toolCallId: part.toolCallId,
    toolName: part.toolName,
    output: entry.output,
    label: entry.label,
    ...(entry.fields && { fields: entry.fields }),
    ...(entry.details !== undefined && { details: entry.details }),
  }
}

/** The results of a step are one message, in the order of the calls: made here, so that the log holds each result once. */
function completeStep(state: LogState, run: RunFold, entry: Entry): Message {
  const content: ToolResultPart[] = []
  let label = joinLabels()
  const used: string[] = []
  for (const { result, outcome } of run.calls.values()) {
    if (!result) continue
    if (outcome === 'ok' || outcome === 'error' || outcome === 'timeout') used.push(result.toolName)
    content.push(result)
    label = joinLabels(label, fillLabel(result.label, untrustedLabel(result.toolName)))
  }
  const message: Message = deepFreeze({
    id: positionId(run.id, run.step, 'message', 'tool'),
    role: 'tool',
    content,
    label,
    agent: entry.agent,
    createdAt: entry.at,
  })
  // Nobody sees the results of calls that nobody saw.
  if (state.unsaid.has(state.messages.at(-1)?.id ?? '')) state.unsaid.add(message.id)
  say(state, message)
  run.calls.clear()
  run.bridged.clear()
  run.children.clear()
  run.used = used
  return message
}

function applyWait(state: LogState, run: RunFold, entry: EntryOf<'wait'>): void {
  // A tool that asks goes on running, and so does whoever has a child that waits.
  if (entry.kind === 'input' || entry.child) return
  if (entry.callId === undefined) return
  closeWaits(state, entry.callId, ({ kind, parks }) => kind === 'input' && !parks)
  const call = callOf(run, entry.callId)
  if (call && call.stage !== 'settled') call.stage = 'waiting'
}

function applyResolved(state: LogState, entry: EntryOf<'resolved'>): void {
  const wait = state.waits.get(entry.token)
  state.waits.delete(entry.token)
  settleWait(state, entry.token, wait)
  const { run } = state
  if (!run) return
  if (!wait) return applyLetter(run, entry)
  if (wait.child) return answerChild(run, wait.child.callId, entry)
  if (run.candidate?.token === entry.token) {
    const { message } = run.candidate
    run.candidate = undefined
    if (readVerdict(entry).decision === 'approve') applyAnswer(state, run, message)
    return
  }
  const call = wait.callId === undefined ? undefined : callOf(run, wait.callId)
  if (!call || call.stage === 'settled') return
  if (wait.kind === 'input') {
    if (!wait.parks) return
    const given = entry.by === clock ? undefined : entry.value
    answerBridge(run, call.part.callId, entry.token, untrustedLabel(call.part.toolName), { given })
    wake(run, call)
    return
  }
  wake(run, call)
  if (wait.kind === 'approval') {
    call.approval = readVerdict(entry)
    keepApproval(state, run, call, wait, call.approval)
    call.stage = 'planned'
  } else if (wait.kind === 'uncertain') {
    const value = isRecord(entry.value) ? entry.value : {}
    const { decision, output = null } = value
    if (decision === 'retry') call.stage = 'ready'
    else deliver(call, { output: toJson(output), fate: decision === 'done' ? 'done' : 'given-up', via: 'human' })
  } else {
    deliver(call, { output: entry.value, fate: entry.by === clock ? 'expired' : 'done', via: 'remote' })
  }
}

/** Nobody waits for an answer whose call has ended, or has died with its process. */
function closeWaits(state: LogState, callId: string, closes: (wait: EntryOf<'wait'>) => boolean): void {
  for (const [token, wait] of state.waits) {
    if (wait.callId !== callId || !closes(wait)) continue
    state.waits.delete(token)
    settleWait(state, token, wait)
  }
}

function settleWait(state: LogState, token: string, wait: EntryOf<'wait'> | undefined): void {
  state.resolved.add(token)
  if (wait?.callId !== undefined) state.resolved.add(waitKey(wait.kind, wait.callId))
}

/** Who resolves a wait that nobody answered in time. Nobody else may call himself so. */
export const clock = 'deadline'

/** How a wait about a call is found once it is over. */
export function waitKey(kind: EntryOf<'wait'>['kind'], callId: string): string {
  return `${kind} ${callId}`
}

function deliver(call: CallState, delivered: Delivered): void {
  call.stage = 'delivered'
  call.delivered = delivered
}

/** The decision that resolved an approval. Whatever is not clearly an approval denies. */
export function readVerdict(entry: Pick<EntryOf<'resolved'>, 'token' | 'value' | 'by'>): ApprovalDecision {
  const value = isRecord(entry.value) ? entry.value : {}
  return {
    id: entry.token,
    decision: value['decision'] === 'approve' ? 'approve' : 'deny',
    by: entry.by,
    ...(typeof value['reason'] === 'string' && { reason: value['reason'] }),
    ...(value['args'] !== undefined && { args: value['args'] }),
    ...(value['sticky'] === 'session' && { sticky: 'session' }),
  }
}

function applyHandoff(state: LogState, entry: EntryOf<'handoff'>): void {
  const { run, view, writers, lineage } = state
  if (entry.denied !== undefined) return
  if (entry.mode === 'return') {
    const call = entry.callId === undefined ? undefined : run?.calls.get(entry.callId)
    if (!run || !call) return
    run.returns++
    call.errand = { entry, messages: openingView(entry, viewAtStep(state)) }
    return
  }
  state.agent = entry.to
  if (!lineage.includes(entry.to)) lineage.push(entry.to)
  if (entry.manifest) state.wanted.set(entry.to, entry.manifest.extensions)
  if (run) {
    run.agents.push(entry.to)
    run.handoffs++
    // What was added to the request for the caller is not the target's.
    run.tail.length = 0
    run.used = undefined
  }
  const written = new Map(view.map((message) => [message.id, writers.get(message)]))
  const crossed = openingView(entry, view)
  for (const message of crossed) {
    const writer = written.get(message.id)
    if (writer !== undefined) writers.set(message, writer)
  }
  view.length = 0
  for (const message of crossed) view.push(message)
  state.viewVersion++
  state.viewLabel = joinLabels(...[...(state.preludes.get(state.agent) ?? []), ...view].map(labelOf))
}

function applyView(state: LogState, entry: EntryOf<'view'>): void {
  if (entry.from === '' && entry.to === '') {
    // Behind everything: what was sent stays as it is.
    for (const message of entry.with) {
      state.view.push(message)
      state.viewLabel = joinLabels(state.viewLabel, labelOf(message))
    }
    return
  }
  const from = state.view.findIndex((message) => message.id === entry.from)
  const to = state.view.findIndex((message) => message.id === entry.to)
  if (from < 0 || to < from) return
  const cut = state.view.slice(from, to + 1)
  // Not spread: a long view has more messages than a call takes arguments.
  const rest = state.view.splice(from)
  for (const message of entry.with) state.view.push(message)
  for (const message of rest.slice(cut.length)) state.view.push(message)
  keepWriters(state, cut, entry.with)
  state.viewVersion++
  const sent = [...state.preludes.values(), state.view].flat()
  state.viewLabel = joinLabels(...sent.map(labelOf))
}

/** A message that stands in the view again under its id was written by the same model. */
function keepWriters({ writers }: LogState, cut: readonly Message[], kept: readonly Message[]): void {
  const known = new Map(cut.map((message) => [message.id, writers.get(message)]))
  for (const message of kept) {
    const writer = known.get(message.id)
    if (writer !== undefined) writers.set(message, writer)
  }
}
