import type { EventType } from '@provost/core'
import { eventTypes } from '@provost/core'

import type { ContentKind } from '../attributes/content.ts'

/** Events that are only used when this kind of content is recorded. */
const neededFor: Readonly<Partial<Record<EventType, ContentKind | 'metrics' | 'nothing'>>> = {
  'agent.start': 'messages',
  'message.end': 'messages',
  'step.start': 'instructions',
  'tool.execute.start': 'tools',
  'turn.start': 'metrics',
  'text.delta': 'metrics',
  'reasoning.delta': 'metrics',
  'tool.call.delta': 'metrics',
  'turn.mode': 'nothing',
  'turn.end': 'nothing',
  'step.end': 'nothing',
  'text.start': 'nothing',
  'text.end': 'nothing',
  'reasoning.start': 'nothing',
  'reasoning.end': 'nothing',
  'tool.call.start': 'nothing',
  'tool.call.end': 'nothing',
  'tool.execute.progress': 'nothing',
  'tool.execute.partial': 'nothing',
  'source.cited': 'nothing',
}

/** Returns the events to subscribe to. A step emits about a dozen, and most configurations need few. */
export function neededEvents(recorded: ReadonlySet<string>, measured: boolean): readonly EventType[] {
  return eventTypes.filter((type) => {
    const use = neededFor[type]
    return use === undefined || (use === 'metrics' ? measured : recorded.has(use))
  })
}
