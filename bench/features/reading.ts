import type { AgentEvent, Entry, EventType, SessionStore } from 'provost'
import type { ScriptedPrompt } from 'provost/testing'

/** Calls a function as a JavaScript program can, without types. */
export function loose(fn: (...args: never[]) => unknown, ...args: readonly unknown[]): unknown {
  return Reflect.apply(fn, undefined, args)
}

/** Returns all events of a stream. */
export async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Returns the events of one type. */
export function ofType<K extends EventType>(
  events: readonly AgentEvent[],
  type: K,
): Extract<AgentEvent, { readonly type: K }>[] {
  return events.filter((event): event is Extract<AgentEvent, { readonly type: K }> => event.type === type)
}

/** Calls a function so that what it throws at once rejects too. */
export async function attempt<T>(act: () => Promise<T>): Promise<T> {
  return act()
}

/** Returns the texts that a model reads in its prompt, by role: `user: hi`. Calls and results are JSON. */
export function readBy({ messages }: Pick<ScriptedPrompt, 'messages'>): string[] {
  return messages.map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`
    return `${role}: ${content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('')}`
  })
}

/** Returns the log of a session. */
export async function entriesOf(store: Pick<SessionStore, 'read'>, sessionId: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(sessionId)) entries.push(entry)
  return entries
}
