import type { Message, ModelMessage, NewEntry, Principal, SessionStore } from '@provost/core'
import { ProvostError, joinLabels, labelOf, positionId, untrustedLabel, uuidv7, clockOf } from '@provost/core'
import type { Created } from '@provost/sessions'
import { checkSessionId, countedRead, createdBody, createdId, createdIn, isCreated } from '@provost/sessions'

import { checkActive } from '../handoff/active-agent.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import { writeBetweenRuns } from '../log/session-log.ts'
import { historyOf } from '../messages/read-input.ts'
import { unknownSession } from '../result/session-error.ts'
import { newEntry } from '../state/entry.ts'
import type { LogSnapshot, EntryContext } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/** A session with its log. */
export interface Opened {
  readonly id: string
  readonly snapshot: LogSnapshot
  readonly origin: Created
}

/** The parameters of a new session. */
export interface Beginning {
  readonly id?: string | undefined
  readonly principal?: Principal | undefined
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
}

/**
 * Claims the id of a new session. Its first entry names the agent and prevents a second session with the same id.
 *
 * @throws ProvostError `session-exists`, `invalid-session-id`, `invalid-input`; SessionBusyError
 */
export async function beginSession(agent: ResolvedAgent, store: SessionStore, beginning: Beginning): Promise<Opened> {
  const id = checkSessionId(beginning.id ?? uuidv7())
  const { principal, messages = [] } = beginning
  const clock = clockOf(store)
  const place = { runId: id, step: 0, agent: agent.name, clock }
  const imported = messages.length > 0 ? importHistory(messages, place, agent) : { entries: [], repairs: [] }
  const snapshot = logSnapshot(id, clock)
  const { repairs } = imported
  const created = createdBody({ agent: agent.name, ...(principal && { principal }), repairs })
  await writeBetweenRuns(store, id, agent.leaseMs, snapshot, agent.secrets.scrubber, () => {
    if (snapshot.state.entries.length > 0) throw exists(id)
    return [newEntry(place, createdId(id), created), ...imported.entries]
  })
  return { id, snapshot, origin: originOf(snapshot.state, agent) }
}

/**
 * Opens an existing session. After a crash of its writer the log is read under a lease, so that the store counts a
 * takeover if reading also crashes this process.
 *
 * @throws ProvostError `unknown-session`, `wrong-agent`, `missing-extension`, `session-quarantined`
 */
export function reopenSession(agent: ResolvedAgent, store: SessionStore, id: string): Promise<Opened> {
  return countedRead(store, checkSessionId(id), agent.leaseMs, () => readSession(agent, store, id))
}

async function readSession(agent: ResolvedAgent, store: SessionStore, id: string): Promise<Opened> {
  const entries = await readLog(store, id)
  if (entries.length === 0) throw unknownSession(id)
  const snapshot = logSnapshot(id, clockOf(store))
  applyEntries(snapshot, entries)
  const origin = originOf(snapshot.state, agent)
  if (origin.agent !== agent.name) {
    throw new ProvostError('wrong-agent', `Session ${id} belongs to agent ${origin.agent}, not to ${agent.name}.`, {
      hint: 'Resume it with the agent that created it.',
    })
  }
  checkActive(agent, snapshot.state)
  return { id, snapshot, origin }
}

function originOf({ entries }: SessionState, agent: ResolvedAgent): Created {
  const [first] = entries
  return first && isCreated(first) ? createdIn(first) : { agent: agent.name, repairs: [] }
}

function importHistory(
  messages: readonly (Message | ModelMessage)[],
  place: EntryContext,
  agent: ResolvedAgent,
): { readonly entries: readonly NewEntry[]; readonly repairs: readonly string[] } {
  const key = positionId(place.runId, 0, 'message', 'import')
  const { messages: whole, repairs } = historyOf(messages, key, agent)
  const entries = whole.map((message, index) => {
    // The origin of imported messages is unknown, so their own labels cannot lower this one.
    const label = joinLabels(labelOf(message), untrustedLabel('import'))
    return newEntry(place, `${key}/entry/${index}`, { type: 'message', message: { ...message, label }, via: 'input' })
  })
  return { entries, repairs }
}

function exists(id: string): ProvostError {
  return new ProvostError('session-exists', `Session ${id} already exists.`, {
    hint: 'Resume the session, or choose another id.',
  })
}
