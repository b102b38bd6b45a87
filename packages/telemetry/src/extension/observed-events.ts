import type { EventType } from '@provost/core'
import { eventTypes } from '@provost/core'

import type { ContentKind } from '../attributes/content.ts'

/** Events of which something is told only where this is recorded. */
const told: Readonly<Partial<Record<EventType, ContentKind | 'metrics' | 'nothing'>>> = {
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

/** The events that are heard of a run: there are a dozen in each step, and most are of use to few. */
export function heardEvents(recorded: ReadonlySet<string>, measured: boolean): readonly EventType[] {
  return eventTypes.filter((type) => {
    const use = told[type]
    return use === undefined || (use === 'metrics' ? measured : recorded.has(use))
  })
}
