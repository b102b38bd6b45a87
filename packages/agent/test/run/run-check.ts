import { isDeepStrictEqual } from 'node:util'

import { createAgent, foldLog } from '@provost/agent'
import type { AgentStream } from '@provost/agent'
import type { AgentEvent, Entry, Message, RunResult, SessionStore } from '@provost/core'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { expect } from 'vitest'

/** Everything a stream gave. */
export interface Seen<Output = string> {
  readonly events: readonly AgentEvent[]
  readonly result: RunResult<Output>
  readonly runId: string
}

/** Reads a stream to its end. */
export async function collect<Output>(stream: AgentStream<Output>): Promise<Seen<Output>> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return { events, result: await stream.result, runId: stream.runId }
}

/** The entries of a log. */
export async function readLog(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

/** The events of one type. */
export function only<K extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  type: K,
): readonly Extract<AgentEvent, { type: K }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: K }> => event.type === type)
}

/** Expects of one stream what every stream keeps, whatever happened in it. */
export function expectSound(seen: Seen<unknown>): void {
  const { events, result, runId } = seen
  expect(violations(events, runId)).toEqual([])
  const last = events.at(-1)
  if (last?.type !== 'agent.end') throw new Error('the last event is not agent.end')
  expect(last.status).toBe(result.status)
  expect(last.messages).toEqual(result.messages)
  expect(last.text).toBe(result.text)
  expect(last.usage).toEqual(result.usage)
  // What listeners were told is what was said, in its order.
  const told = only(events, 'message.end').flatMap((event) => (counts(event) ? [event.message] : []))
  expect(told).toEqual(result.messages.slice(result.messages.length - told.length))
  if (result.status !== 'suspended' && !brokenOff(events)) assertWellFormed(result.messages)
}

/** Whether a message that ended stands in the history: an answer without a word does not. */
function counts({ discarded, message }: Extract<AgentEvent, { type: 'message.end' }>): boolean {
  if (discarded) return false
  return message.role !== 'assistant' || message.content.some((part) => part.type !== 'text' || part.text !== '')
}

/** Whether the log does not know of the end, since it could not be written any more. */
function brokenOff(events: readonly AgentEvent[]): boolean {
  // An event that follows from no entry has a transient id.
  return events.at(-2)?.type === 'agent.error' && events.at(-1)?.id.includes('~') === true
}

/** Expects that a log is whole and says what the result says. */
export async function expectLogged(store: SessionStore, result: RunResult<unknown>): Promise<void> {
  const entries = await readLog(store, result.sessionId)
  expect(entries.map((entry) => entry.offset)).toEqual(entries.map((_, index) => index + 1))
  expect(new Set(entries.map((entry) => entry.id)).size).toBe(entries.length)
  if (!entries.every(isLasting)) expect(JSON.parse(JSON.stringify(entries))).toStrictEqual(entries)
  // Held text of a response that was sent back for repair reaches no subscriber.
  // The start event of a call may come with its group: only the entry tells that it began.
  const begun = new Set(
    entries.flatMap((entry) => (entry.type === 'call' && entry.op === 'started' ? entry.callId : [])),
  )
  for (const entry of entries) {
    if (entry.type === 'call' && entry.op === 'settled' && entry.outcome === 'skipped')
      expect(begun).not.toContain(entry.callId)
  }
  const state = foldLog(entries)
  const messages = state.messages.filter(({ id }) => !state.hidden.has(id))
  expect(messages.slice(messages.length - result.messages.length)).toEqual(result.messages)
}

/** Expects what every provider expects: each call has an id of its own, and right behind it its one result. */
export function expectPaired(prompt: ScriptedPrompt['messages']): void {
  const seen = new Set<string>()
  for (const [index, { role, content }] of prompt.entries()) {
    if (role !== 'assistant') continue
    expect(content.length).toBeGreaterThan(0)
    expect(content.at(-1)?.type).not.toBe('reasoning')
    const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
    for (const id of calls) {
      expect(id).toMatch(/^[\w-]{1,64}$/)
      expect(seen).not.toContain(id)
      seen.add(id)
    }
    const next = prompt[index + 1]
    const results = next?.role === 'tool' ? next.content : []
    if (calls.length > 0) expect(results.map((part) => part.type === 'tool-result' && part.toolCallId)).toEqual(calls)
  }
}

/** Expects that the next turn of a session is one that any provider takes. */
export async function expectTaken(store: SessionStore, sessionId: string): Promise<void> {
  // A follow-up of the ended run may wait for this one.
  const model = scriptedModel(
    [
      ({ messages }) => {
        expectPaired(messages)
        return { text: 'Yes.' }
      },
    ],
    { after: 'repeat-last' },
  )
  const next = await createAgent({ name: 'actor', model, store }).run('Go on?', { sessionId })
  expect(next).toMatchObject({ status: 'completed', text: 'Yes.' })
  const entries = await readLog(store, sessionId)
  assertWellFormed(foldLog(entries).messages)
}

/** What is wrong with the events of one stream, in words. */
export function violations(events: readonly AgentEvent[], runId: string): readonly string[] {
  const found: string[] = []
  const resumed = events.some((event) => event.type === 'agent.resumed')
  const suspended = events.some((event) => event.type === 'agent.suspended')
  const ids = new Set<string>()
  const open = new Map<string, Map<string, string>>()
  const calls = new Map<string, number>()
  const parked = new Set<string>()
  const started: string[] = []
  const ended: string[] = []
  const settled = new Set<string>()
  /** The composites that calls were made by. */
  const makers = new Map<string, string>()
  const park = (callId: string): void => {
    for (let at: string | undefined = callId; at !== undefined; at = makers.get(at)) parked.add(at)
  }
  /** With the composites around it: one that asks before it starts is known by its id alone. */
  const parkAll = (callId: string): void => {
    park(callId)
    for (const made of started) if (callId.startsWith(`${made}/`)) park(made)
  }
  let turn: Message[] | undefined
  let turns = 0
  let step: number | undefined
  let lastStep = 0

  events.forEach((event, index) => {
    const complain = (what: string): void => void found.push(`${event.seq} ${event.type}: ${what}`)
    if (event.seq !== index + 1) complain(`stands at ${index + 1}`)
    if (event.runId !== runId) complain(`belongs to run ${JSON.stringify(event.runId)}`)
    if (event.agent === '') complain('names no agent')
    if (!('token' in event) && ids.has(event.id)) complain(`has the id of another, ${event.id}`)
    ids.add(event.id)
    if (event.type === 'agent.end' && index !== events.length - 1) complain('is not the last one')
    if (!isLasting(event)) {
      if (!isDeeplyFrozen(event)) complain('can be changed')
      if (!isDeepStrictEqual(JSON.parse(JSON.stringify(event)), event)) complain('is not JSON')
    }

    switch (event.type) {
      case 'turn.start':
        if (turn) complain('a turn is open')
        turn = []
        turns++
        break
      case 'turn.end':
        // A turn that a process died in ends where another one goes on.
        if (!turn && !(resumed && turns === 0)) complain('no turn is open')
        if (turn && !isDeepStrictEqual(turn, event.messages)) complain('its messages are not those of the turn')
        turn = undefined
        break
      case 'step.start':
        if (step !== undefined) complain(`step ${step} is open`)
        if (event.step <= lastStep) complain(`step ${event.step} follows ${lastStep}`)
        lastStep = step = event.step
        break
      case 'step.end':
        if (step === undefined && !(resumed && lastStep === 0)) complain('no step is open')
        if (step !== undefined && step !== event.step) complain(`ends ${event.step}, ${step} is open`)
        lastStep = event.step
        step = undefined
        calls.clear()
        break
      case 'message.start': {
        const key = `${event.messageId}#${event.attempt}`
        if (open.has(key)) complain('has begun already')
        open.set(key, new Map())
        break
      }
      case 'message.end': {
        const parts = open.get(`${event.messageId}#${event.attempt}`)
        if (!parts) complain('never began')
        if (event.message.id !== event.messageId) complain('is about another message')
        if (event.message.role === 'assistant' && !event.discarded) {
          if (parts && parts.size > 0) complain(`parts ${[...parts.keys()].join()} are open`)
          for (const part of event.message.content) {
            if (part.type !== 'tool-call' || part.providerExecuted) continue
            if (calls.has(part.callId)) complain(`call ${part.callId} came before`)
            calls.set(part.callId, calls.size)
          }
        }
        open.delete(`${event.messageId}#${event.attempt}`)
        if (counts(event)) turn?.push(event.message)
        break
      }
      case 'text.start':
      case 'reasoning.start':
      case 'text.delta':
      case 'reasoning.delta':
      case 'text.end':
      case 'reasoning.end': {
        const parts = open.get(`${event.messageId}#${event.attempt}`)
        if (!parts) {
          complain('its message is not open')
          break
        }
        const so = parts.get(event.partId)
        if (event.type.endsWith('.start')) {
          if (so !== undefined) complain('its part is open')
          parts.set(event.partId, '')
        } else if (so === undefined) complain('its part is not open')
        else if ('delta' in event) parts.set(event.partId, so + event.delta)
        else if ('text' in event) {
          if (event.text !== so) complain(`says ${event.text}, the deltas ${so}`)
          parts.delete(event.partId)
        }
        break
      }
      case 'tool.call.start':
      case 'tool.call.delta':
      case 'tool.call.end':
        if (!open.has(`${event.messageId}#${event.attempt}`)) complain('its message is not open')
        break
      case 'tool.approval.requested':
      case 'tool.remote.requested':
      case 'tool.uncertain':
      case 'input.requested':
        parkAll(event.callId)
        break
      case 'agent.suspended':
        // What was asked by a process that is gone still waits.
        for (const { callId } of Object.values(event.pending).flat()) parkAll(callId)
        break
      case 'tool.execute.start':
        if (settled.has(event.callId)) complain(`${event.callId} is settled`)
        if (started.includes(event.callId)) complain(`${event.callId} runs already`)
        started.push(event.callId)
        if (event.parentCallId !== undefined) makers.set(event.callId, event.parentCallId)
        break
      case 'tool.execute.progress':
      case 'tool.execute.partial':
        if (!started.includes(event.callId) || settled.has(event.callId)) complain(`${event.callId} does not run`)
        break
      case 'tool.execute.end':
      case 'tool.execute.error':
      case 'tool.skipped':
        if (settled.has(event.callId)) complain(`${event.callId} is settled already`)
        settled.add(event.callId)
        if (started.includes(event.callId)) ended.push(event.callId)
        break
      default:
        break
    }
  })

  if (events.filter((event) => event.type === 'agent.end').length !== 1) found.push('agent.end is not there once')
  if (only(events, 'agent.start').length > 1) found.push('agent.start is there twice')
  // Where the store is gone, nothing can be ended but the stream.
  if (brokenOff(events)) return found
  if (turn) found.push('a turn never ends')
  if (step !== undefined && !suspended) found.push(`step ${step} never ends`)
  // An answer that a human has to approve ends where it is decided.
  const held = suspended && parked.size > 0
  for (const key of open.keys()) if (!held) found.push(`message ${key} never ends`)
  for (const callId of started) {
    if (!settled.has(callId) && !parked.has(callId)) found.push(`call ${callId} never ends`)
  }
  // A call that waited starts when its answer arrives; the others keep the order of the calls.
  const inOrder = started.filter((callId) => !parked.has(callId) && !makers.has(callId) && !resumed)
  expectOrder('starts', inOrder, found)
  expectOrder(
    'ends',
    ended.filter((callId) => inOrder.includes(callId)),
    found,
  )
  return found
}

/** Call ids end in the step and the place of the call in it. */
function expectOrder(what: string, callIds: readonly string[], found: string[]): void {
  const places = callIds.map((callId) =>
    callId.split('/').flatMap((part) => (/^\d+$/.test(part) ? [Number(part)] : [])),
  )
  for (const [index, place] of places.entries()) {
    const before = places[index - 1]
    if (!before) continue
    const [stepBefore = 0, callBefore = 0] = before
    const [step = 0, call = 0] = place
    if (step < stepBefore || (step === stepBefore && call < callBefore))
      found.push(`${what} out of order: ${callIds.join()}`)
  }
}

const lasting = new WeakSet<object>()

/** Whether it is deeply frozen, and comes back from JSON as it is. Events and entries share most of what they hold: each is looked at once. */
function isLasting(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null || lasting.has(value)) return true
  const keys = Object.keys(value)
  const plain = Array.isArray(value)
    ? Object.getPrototypeOf(value) === Array.prototype && keys.length === value.length
    : Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value)
  if (!plain || !Object.isFrozen(value) || Object.getOwnPropertySymbols(value).length > 0) return false
  if (!Object.values(value).every(isLasting)) return false
  lasting.add(value)
  return true
}

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen)
}
