import { hash } from 'node:crypto'

import type { Input } from '@provost/core'
import { uuidv7 } from '@provost/core'

import type { ChildState, RunProgress, SessionState } from '../types/session-state.ts'
import type { SendMode } from '../types/stream.ts'

/** Token prefix of inputs to a session; a delivery with any other token answers the wait of that token. */
export const sendToken = 'send/'

/** Returns a token for an input that its sender sends once. */
export function newSendToken(): string {
  return `${sendToken}${uuidv7()}`
}

/** Whether a text is a run id: roots have UUIDs, and the ids of children begin with those of their roots. */
export function isRunId(id: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/|$)/.test(id)
}

/** Returns the name of a child run's log. What is sent to the child goes to the inbox of this log. */
export function childLog(sessionId: string, runId: string): string {
  return `${sessionId}/child/${hash('sha256', runId).slice(0, 32)}`
}

/** Returns the id of the session of a child that may run on any worker. */
export function partSession(sessionId: string, runId: string): string {
  return `${sessionId}/part/${hash('sha256', runId).slice(0, 32)}`
}

/** Whether a log is that of a child that may run on any worker. */
export function isPart(log: string): boolean {
  return /\/part\/[0-9a-f]{32}$/u.test(log)
}

const partToken = 'part/'

/** Returns the token of the letter by which a child elsewhere says that it rests, with its log at this offset. */
export function partLetter(runId: string, offset: number): string {
  return `${partToken}${runId}/${offset}`
}

/** Returns the open child elsewhere that a letter is from; undefined for another token, or if the child has ended. */
export function partOfLetter(run: RunProgress | undefined, token: string): ChildState | undefined {
  if (!run || !token.startsWith(partToken)) return undefined
  const child = run.children.get(token.slice(partToken.length, token.lastIndexOf('/')))
  return child?.where === 'any' && !child.completion ? child : undefined
}

/** Whether a delivery with this token answers a wait: it is no input, no abort and no letter. */
export function answersWait(token: string): boolean {
  return !/^(?:send|abort|part)\//u.test(token)
}

/** Whether a delivery with this token lets the run advance: the answer to a wait, or the letter of a child elsewhere. */
export function isAwaited(state: SessionState, token: string): boolean {
  return state.waits.has(token) || (!state.resolvedWaits.has(token) && partOfLetter(state.run, token) !== undefined)
}

/** The state of a run, from the logs of the runs above it. */
export type ChildStatus =
  | { readonly agent: string; readonly isPaused: boolean; readonly log: string }
  /** The log of a child that must be read first. */
  | { readonly unread: string }

/** Returns the child that a run is, or is below: run ids contain where they were spawned. */
export function childToward(run: RunProgress | undefined, to: string): ChildState | undefined {
  for (const child of run?.children.values() ?? []) {
    if (to === child.callId || to.startsWith(`${child.callId}/`)) return child
  }
  return undefined
}

/**
 * Finds a run below another.
 *
 * @param logs of children by name, as far as they are known.
 * @returns undefined if there is no such run, or it has ended.
 */
export function childStatusOf(
  state: SessionState,
  to: string,
  logs: ReadonlyMap<string, SessionState>,
): ChildStatus | undefined {
  for (let at = state; ;) {
    const child = childToward(at.run, to)
    if (!child || child.completion) return undefined
    const below = logs.get(child.log)
    if (!below) return { unread: child.log }
    const status = below.run?.status ?? 'running'
    if (status !== 'running' && status !== 'suspended') return undefined
    if (to === child.callId) return { agent: child.agent, isPaused: status === 'suspended', log: child.log }
    at = below
  }
}

/** Returns the send mode in an inbox value. */
export function modeOf(value: unknown): SendMode {
  return value === 'steer' ? 'steer' : 'queue'
}

/** Returns the input in an inbox value; the items of a list are validated when they enter. */
export function inputIn(value: unknown): Input {
  return typeof value === 'string' || isList(value) ? value : ''
}

function isList(value: unknown): value is Exclude<Input, string> {
  return Array.isArray(value)
}
