import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Entry, Input, Json, Manifest, RunState as RunStateData } from '@provost/core'
import { ProvostError, canonicalJson, hostileKeyIn, isRecord, toJson } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/** The version that this release writes. It reads this version and all earlier ones. */
const runStateVersion = 1

interface StateData {
  readonly v: number
  readonly manifest: Manifest
  readonly agent: string
  readonly sig?: string
  readonly cursor: RunStateData['cursor']
  readonly entries?: readonly Entry[]
  readonly children?: RunStateData['children']
}

/** Returns the current position of a run in its log. */
export function cursorOf(state: SessionState, sessionId: string, runId: string): RunStateData['cursor'] {
  return { sessionId, runId, offset: state.offset }
}

/**
 * Returns the serializable state of a run. With an ephemeral store it includes the entries.
 *
 * @param entries of the log, at least up to the cursor.
 * @param children the logs of the running children, by name.
 */
export function runStateOf<Output>(
  agent: ResolvedAgent,
  manifest: Manifest,
  cursor: RunStateData['cursor'],
  entries: readonly Entry[],
  children: NonNullable<RunStateData['children']> = {},
): RunStateData<Output> {
  return stateOf(
    signed(agent, {
      v: runStateVersion,
      manifest,
      agent: manifest.agent,
      cursor,
      ...(agent.store.ephemeral && { entries: entries.slice(0, cursor.offset) }),
      ...(agent.store.ephemeral && Object.keys(children).length > 0 && { children }),
    }),
  )
}

/** Returns the state of a run for a resume in the same process: without entries and without a signature. */
export function localState<Output>(manifest: Manifest, cursor: RunStateData['cursor']): RunStateData<Output> {
  return stateOf({ v: runStateVersion, manifest, agent: manifest.agent, cursor })
}

export function stateOf<Output>(data: StateData): RunStateData<Output> {
  const { v, manifest, agent, sig, cursor, entries, children } = data
  const plain = {
    v,
    manifest,
    agent,
    ...(sig !== undefined && { sig }),
    cursor,
    ...(entries && { entries }),
    ...(children && { children }),
  }
  return { ...plain, toJSON: (): Json => toJson(plain) }
}

/** Returns the state, signed with the agent's `stateKey` where it has one. */
function signed(agent: ResolvedAgent, data: StateData): StateData {
  return agent.stateKey === undefined ? data : { ...data, sig: signatureOf(agent.stateKey, data) }
}

function signatureOf(key: string | Uint8Array, { v, manifest, agent, cursor, entries, children }: StateData): string {
  // Sign canonical JSON: a database may store the keys in another order.
  const text = canonicalJson(toJson({ v, manifest, agent, cursor, entries, ...(children && { children }) }))
  return createHmac('sha256', key).update(text).digest('base64url')
}

/**
 * Rejects a state without a valid signature, where the agent has a `stateKey`.
 *
 * @throws ProvostError `bad-signature`
 */
export function checkSignature(data: StateData, agent: ResolvedAgent): void {
  if (agent.stateKey === undefined || isSigned(agent.stateKey, data)) return
  const what = data.sig === undefined ? 'is not signed' : 'was changed, or signed with another key'
  throw new ProvostError('bad-signature', `The run state ${what}.`, {
    hint: 'Pass what an agent with the same stateKey wrote, unchanged.',
  })
}

function isSigned(key: string | Uint8Array, data: StateData): boolean {
  if (data.sig === undefined) return false
  try {
    const [given, own] = [Buffer.from(data.sig), Buffer.from(signatureOf(key, data))]
    return given.length === own.length && timingSafeEqual(given, own)
  } catch {
    // Too deeply nested to be written by this runtime.
    return false
  }
}

/** Whether an input is the state of a run to resume. */
export function isRunState<Output>(value: Input | RunStateData<Output>): value is RunStateData<Output> {
  return isStateData(value)
}

/**
 * Rejects a run of another agent or a newer release, and an agent without an extension that governs the run.
 *
 * @throws ProvostError `newer-state`, `wrong-agent`, `missing-extension`
 */
export function checkAgent(state: StateData, agent: ResolvedAgent): void {
  if (state.v > runStateVersion) {
    throw new ProvostError(
      'newer-state',
      `The run state has version ${state.v}; this release reads up to ${runStateVersion}.`,
      { hint: 'Resume it with a newer release.' },
    )
  }
  if (state.agent !== agent.name) {
    throw new ProvostError('wrong-agent', `The run belongs to agent ${state.agent}, not to ${agent.name}.`, {
      hint: 'Resume it with the agent that started it.',
    })
  }
  const missing = state.manifest.extensions.filter((name) => !agent.manifest.extensions.includes(name))
  if (missing.length > 0) {
    throw new ProvostError(
      'missing-extension',
      `The run is governed by ${missing.join(', ')}, which agent ${agent.name} lacks.`,
      {
        hint: 'Give the agent the same tree-scoped extensions as before.',
      },
    )
  }
}

export function isStateData(value: unknown): value is StateData {
  if (!isRecord(value)) return false
  const { v, agent, sig, manifest, cursor, entries, children } = value
  return (
    typeof v === 'number' &&
    typeof agent === 'string' &&
    (sig === undefined || typeof sig === 'string') &&
    isRecord(manifest) &&
    Array.isArray(manifest['extensions']) &&
    isRecord(cursor) &&
    typeof cursor['sessionId'] === 'string' &&
    typeof cursor['runId'] === 'string' &&
    typeof cursor['offset'] === 'number' &&
    (entries === undefined || isLog(entries)) &&
    (children === undefined || (isRecord(children) && Object.values(children).every(isLog)))
  )
}

function isLog(value: unknown): boolean {
  return Array.isArray(value) && value.every(isPlaced)
}

/** A cheap check for an entry: states made in this process need no full validation. */
function isPlaced(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value['id'] === 'string' &&
    typeof value['offset'] === 'number' &&
    typeof value['type'] === 'string'
  )
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid('it is not JSON', cause)
  }
}

/** Fields with values of tools and models. In them every key except `__proto__` is data. */
const foreign: ReadonlySet<string> = new Set(['args', 'input', 'output', 'value', 'evidence', 'details', 'data'])

export function refuseHostileKeys(root: unknown): void {
  const hostile = hostileKeyIn(root, { data: foreign })
  if (hostile !== undefined) throw invalid(`it has ${hostile}`)
}

export function invalid(why: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-state', `This is not a run state: ${why}.`, {
    hint: 'Pass what JSON.stringify(result.state) wrote, unchanged.',
    cause,
  })
}
