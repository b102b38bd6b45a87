import type { Message, PartOrigin, SessionStore, Spawnable } from '@provost/core'
import { createdIn, isCreated } from '@provost/sessions'

import { agentNotServed, partAgent } from '../children/part-agent.ts'
import { readLog } from '../log/log-snapshot.ts'
import { foldLog } from '../reducers/reducer.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { ParentRun } from '../types/run-tree.ts'
import type { Opened } from './open-session.ts'

/** The session of a child whose parent runs elsewhere. */
export interface Part {
  /** The plan of the child, under the policies of the runs above. */
  readonly agent: ResolvedAgent
  readonly parentRun: ParentRun
}

/**
 * Returns what the session of a child has of the runs above it, from its creation entry and their logs; undefined for any
 * other session.
 *
 * @param agents those of this process.
 * @throws ProvostError `agent-not-served`, `missing-extension`
 */
export async function reopenPart(
  own: ResolvedAgent,
  store: SessionStore,
  agents: readonly Spawnable[] | undefined,
  { id, origin: { part: origin } }: Opened,
): Promise<Part | undefined> {
  if (!origin) return undefined
  const { runId, parents, parent, grant, label } = origin
  if (!agents) throw agentNotServed(origin.levels[0]?.agent ?? '')
  const agent = partAgent(own, origin, new Map(agents.map((one) => [one.name, one])))
  const messages = await wordsAbove(store, origin)
  const parentRun: ParentRun = {
    runId,
    log: id,
    sessionId: id,
    rootId: parents.at(-1) ?? runId,
    parents: Object.freeze([...parents]),
    parentLog: parent,
    grant,
    label,
    secrets: agent.secrets,
    userMessages: () => messages,
    // The run above has set the grant aside.
    remaining: () => undefined,
    handoffs: () => 0,
    origin,
  }
  return { agent, parentRun }
}

/** Returns the messages of the human in the sessions above, the first ones first. */
async function wordsAbove(store: SessionStore, { parent }: PartOrigin): Promise<readonly Message[]> {
  const entries = await readLog(store, parent)
  const [first] = entries
  const above = first && isCreated(first) ? createdIn(first).part : undefined
  const before = above ? await wordsAbove(store, above) : []
  return [...before, ...foldLog(entries).userMessages]
}
