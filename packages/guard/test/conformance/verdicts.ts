import type { Entry, SessionStore } from '@provost/core'
import { isRecord } from '@provost/core'

/** Returns the entries of the only session in a store. */
export async function onlyLog(store: SessionStore): Promise<readonly Entry[]> {
  const sessions: string[] = []
  for await (const { id } of store.list()) sessions.push(id)
  const [session, more] = sessions
  if (session === undefined || more !== undefined) throw new Error(`There are ${sessions.length} sessions.`)
  const entries: Entry[] = []
  for await (const entry of store.read(session)) entries.push(entry)
  return entries
}

/** Returns the first decision about each call of a log, in order, with the rule that made it. */
export function verdictsIn(entries: readonly Entry[]): readonly string[] {
  const names = new Map<string, string>()
  const rules = new Map<string, string>()
  const verdicts = new Map<string, string>()
  for (const entry of entries) {
    if (entry.type === 'message')
      for (const part of entry.message.content) if (part.type === 'tool-call') names.set(part.callId, part.toolName)
    if (entry.type === 'audit' && entry.callId !== undefined && !rules.has(entry.callId) && isRecord(entry.evidence))
      rules.set(entry.callId, entry.rule)
    if (entry.type !== 'call' || entry.op !== 'decided' || verdicts.has(entry.callId)) continue
    const rule = rules.get(entry.callId)
    const decision = entry.outcome === 'proceed' ? 'allow' : entry.outcome
    verdicts.set(entry.callId, [names.get(entry.callId), decision, ...(rule === undefined ? [] : [rule])].join(' '))
  }
  return [...names.keys()].flatMap((callId) => verdicts.get(callId) ?? [])
}
