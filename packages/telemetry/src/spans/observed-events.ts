import type { AgentEvent, EventType } from '@provost/core'
import { eventTypes } from '@provost/core'

import type { ContentKind } from '../attributes/content.ts'

/** Spans show these events already, or they have no place in a trace. */
const untraced = {
  'turn.mode': true,
  'turn.end': true,
  'step.end': true,
  'text.start': true,
  'text.end': true,
  'reasoning.start': true,
  'reasoning.end': true,
  'tool.call.start': true,
  'tool.call.end': true,
  'tool.execute.progress': true,
  'tool.execute.partial': true,
  'source.cited': true,
} as const

/** Events that are recorded. */
export type TracedEvent = Exclude<AgentEvent, { readonly type: keyof typeof untraced }>

/** Events that are only used when this kind of content is recorded. */
const neededFor: Readonly<Partial<Record<EventType, ContentKind | 'metrics'>>> = {
  'agent.start': 'messages',
  'message.end': 'messages',
  'step.start': 'instructions',
  'tool.execute.start': 'tools',
  'turn.start': 'metrics',
  'text.delta': 'metrics',
  'reasoning.delta': 'metrics',
  'tool.call.delta': 'metrics',
}

/** Returns whether an event is recorded in a trace. */
export function isTraced(event: AgentEvent): event is TracedEvent {
  return !Object.hasOwn(untraced, event.type)
}

/** Returns the events to subscribe to. A step emits about a dozen, and most configurations need few. */
export function neededEvents(recorded: ReadonlySet<string>, measured: boolean): readonly EventType[] {
  return eventTypes.filter((type) => {
    const use = neededFor[type]
    return !Object.hasOwn(untraced, type) && (use === undefined || (use === 'metrics' ? measured : recorded.has(use)))
  })
}
