// Checked by the compiler alone: one switch over every event, with the payload each of them has.
import { assertNever, eventFilter } from 'provost'
import type { AgentEvent, EventOf, EventPayloads, EventType, Json, ToolOutput } from 'provost'
import { expectTypeOf } from 'vitest'

export function tell(event: AgentEvent): string {
  switch (event.type) {
    case 'agent.start':
    case 'agent.resumed':
      return event.sessionId
    case 'agent.suspended':
      return event.pending.approvals.map(({ reason }) => reason).join()
    case 'agent.end':
      return `${event.status} ${event.usage.byModel['openai/gpt-5']?.outputTokens ?? 0} ${event.cost ?? 'unpriced'}`
    case 'agent.error':
      return `${event.source.kind} ${event.source.name} ${event.error.code}`
    case 'turn.start':
      return event.trigger
    case 'turn.mode':
      return `${event.mode} ${event.queueSize}`
    case 'turn.end':
      return event.text
    case 'step.start':
      return `${event.step} ${event.model}`
    case 'step.end':
      return `${event.finishReason} ${event.usage.inputTokens ?? 0}`
    case 'message.start':
      return event.role
    case 'message.end':
      return event.discarded ? 'discarded' : event.message.id
    case 'text.start':
    case 'reasoning.start':
      return `${event.messageId} ${event.partId} ${event.attempt}`
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool.call.delta':
      return event.delta
    case 'text.end':
    case 'reasoning.end':
      return event.text
    case 'tool.call.start':
      return `${event.index} ${event.toolName}`
    case 'tool.call.end':
      return `${JSON.stringify(event.input)} ${event.providerExecuted ?? false}`
    case 'tool.execute.start':
      return event.parentCallId ?? event.callId
    case 'tool.execute.progress':
      return JSON.stringify(event.data)
    case 'tool.execute.partial':
      return event.delta ?? JSON.stringify(event.value)
    case 'tool.execute.end':
      return `${event.output.type} ${event.label.integrity} ${event.durationMs} ${event.via}`
    case 'tool.execute.error':
      return event.error.hint ?? event.error.message
    case 'tool.skipped':
      return event.reason
    case 'tool.uncertain':
      return event.toolName
    case 'tool.approval.requested':
      return `${event.token} ${event.reason} ${event.expiresAt ?? 0}`
    case 'tool.approval.resolved':
      return `${event.decision} by ${event.by}`
    case 'tool.batch.settled':
      return event.rows.map(({ callId, toolName, outcome }) => `${callId} ${toolName} ${outcome}`).join()
    case 'tool.remote.requested':
      return JSON.stringify(event.input)
    case 'tool.remote.resolved':
    case 'input.resolved':
      return event.by
    case 'input.requested':
      return event.message
    case 'agent.steered':
    case 'agent.followup.queued':
      return event.text
    case 'model.fallback':
      return `${event.from} ${event.to} ${event.class}`
    case 'model.retry':
      return `${event.attempt} ${event.afterMs}`
    case 'context.compacted':
      return `${event.beforeTokens} ${event.afterTokens}`
    case 'handoff.start':
      return event.to
    case 'handoff.end':
      return event.status
    case 'fanout.start':
      return event.children.map(({ key }) => key).join()
    case 'fanout.child':
      return event.key
    case 'fanout.merged':
      return event.used.join()
    case 'evaluator.iteration':
      return event.feedback
    case 'governance.flagged':
    case 'governance.blocked':
    case 'governance.declassified':
      return event.rule
    case 'progress.written':
      return event.id
    case 'file.generated':
      return event.file.mediaType
    case 'source.cited':
      return event.url ?? ''
    case 'extension':
      return `${event.name} ${JSON.stringify(event.data)}`
    default:
      return assertNever(event)
  }
}

const isText = eventFilter('text', 'reasoning')

/** A switch over the events of some families needs cases for these alone. */
export function textIn(event: AgentEvent): string {
  if (!isText(event)) return ''
  switch (event.type) {
    case 'text.start':
    case 'reasoning.start':
      return event.partId
    case 'text.delta':
    case 'reasoning.delta':
      return event.delta
    case 'text.end':
    case 'reasoning.end':
      return event.text
    default:
      return assertNever(event)
  }
}

expectTypeOf<AgentEvent['type']>().toEqualTypeOf<EventType>()
expectTypeOf<keyof EventPayloads>().toEqualTypeOf<EventType>()
expectTypeOf<EventOf<'tool.execute.end'>['output']>().toEqualTypeOf<ToolOutput>()
expectTypeOf<Extract<AgentEvent, { type: 'extension' }>['data']>().toEqualTypeOf<Json>()
// An event of either kind, not their intersection.
expectTypeOf<EventOf<'text.delta' | 'text.end'>['type']>().toEqualTypeOf<'text.delta' | 'text.end'>()
