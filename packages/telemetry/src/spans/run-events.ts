import type { Span } from '@opentelemetry/api'
import type { AgentEvent, EffectStatus, EventOf, HookContext, Json, Message } from '@provost/core'
import { assertNever, isRecord } from '@provost/core'

import { codeOf, isSecret, outputValue, withheld } from '../attributes/content.ts'
import { attr, own } from '../attributes/semconv.ts'
import { isTraced } from './observed-events.ts'
import type { SpanAttributes } from './open-span.ts'
import { fail, mark, present } from './open-span.ts'
import type { TracedRun } from './run-trace.ts'

/** Applies an event to the trace of its run. */
export function traceEvent(run: TracedRun, event: AgentEvent, ctx: HookContext): void {
  if (!isTraced(event)) return
  const { record, meters } = run.parts
  const here = run.current()
  switch (event.type) {
    case 'agent.start': {
      if (record.records('messages')) run.noteStart({ input: event.input })
      return
    }
    case 'agent.resumed':
      return run.link(ctx)
    case 'agent.suspended': {
      const { approvals, remoteCalls, uncertain, inputs } = event.pending
      return mark(here, 'provost.run.suspended', {
        'provost.pending.approvals': approvals.length,
        'provost.pending.remote_calls': remoteCalls.length,
        'provost.pending.uncertain': uncertain.length,
        'provost.pending.inputs': inputs.length,
      })
    }
    case 'agent.end': {
      if (record.records('messages')) {
        const answer = run.answer(event.messages)
        // After a handoff the current span is that of the last agent.
        if (answer)
          for (const span of new Set([here, run.root]))
            span.setAttribute(attr.outputMessages, record.messages([answer]))
      }
      return run.close(event, ctx)
    }
    case 'agent.error':
      return mark(here, 'provost.error', {
        'provost.error.source': `${event.source.kind} ${record.name(event.source.name)}`,
        [attr.errorType]: record.name(codeOf(event.error.code)),
        'exception.message':
          record.records('errors') && !run.isSecret(ctx) ? record.text(event.error.message) : undefined,
      })
    case 'turn.start': {
      meters?.count('turns', { 'provost.turn.trigger': event.trigger })
      return
    }
    case 'step.start': {
      if (event.step === 1 && record.records('instructions') && ctx.instructions !== '') {
        run.noteStart({ instructions: ctx.instructions })
      }
      return
    }
    case 'message.start':
      return run.chat(event.messageId)?.responseStarted()
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool.call.delta':
      return run.chat(event.messageId)?.chunk()
    case 'message.end': {
      const chat = run.chat(event.messageId)
      if (!chat) return run.noteMessage(event.message, ctx)
      if (record.records('messages')) chat.setMessage(event.message)
      return chat.end()
    }
    case 'tool.execute.start': {
      if (!record.records('tools')) return
      // Arguments are text of the model or of a composite, which carries the labels of what it read.
      return run.noteArguments(event.callId, record.value(event.input, run.isSecret(ctx)))
    }
    case 'tool.execute.end': {
      if (run.isOnly(event.callId)) {
        if (record.records('messages')) run.noteOutput(outputMessage(run, event, ctx))
        return
      }
      const settled = run.settle(event.callId, {
        ...outputOf(run, event, ctx),
        effect: present(effectOf(run, event, ctx)),
        mayTell: false,
      })
      if (settled) return
      if (event.via === 'executed') return run.noteName(event.callId, event.toolName)
      return mark(here, 'provost.tool.result', {
        ...callOf(run, event),
        [own.via]: event.via,
        ...effectOf(run, event, ctx),
      })
    }
    case 'tool.execute.error': {
      const { error } = event
      const effect = present(effectOf(run, event, ctx))
      if (run.settle(event.callId, { error, effect, mayTell: !run.isSecret(ctx) })) return
      run.noteName(event.callId, event.toolName)
      // Any text of the model may be the name of a tool that does not exist.
      const toolName = ctx.tools.some(({ name }) => name === event.toolName) ? event.toolName : '_OTHER'
      return mark(here, 'provost.tool.refused', {
        ...callOf(run, { ...event, toolName }),
        [attr.errorType]: record.name(codeOf(error.code)),
        ...effect,
      })
    }
    case 'tool.skipped': {
      run.settle(event.callId, { error: { code: 'skipped', message: event.reason }, mayTell: !run.isSecret(ctx) })
      return mark(here, 'provost.tool.skipped', callOf(run, event))
    }
    case 'tool.uncertain':
      return mark(here, 'provost.tool.uncertain', { ...callOf(run, event), ...effectOf(run, event, ctx) })
    case 'tool.approval.requested':
      return mark(here, 'provost.approval.requested', {
        ...callOf(run, event),
        [own.reason]: record.records('tools') && !run.isSecret(ctx) ? record.text(event.reason) : undefined,
        [own.effect]: event.effect,
        [own.integrity]: event.label.integrity,
        [own.warnings]: event.warnings?.map(({ kind }) => kind),
      })
    case 'tool.approval.resolved': {
      const waited = waitedFor(run, event, ctx)
      meters?.approval(waited ?? 0, { [own.decision]: event.decision })
      return mark(here, 'provost.approval.resolved', {
        ...callOf(run, event),
        [own.decision]: event.decision,
        [own.by]: record.name(event.by),
        [own.waited]: waited,
      })
    }
    case 'tool.batch.settled':
      return mark(here, 'provost.batch.settled', {
        'provost.batch.rows': event.rows.length,
        'provost.batch.ok': event.rows.filter(({ outcome }) => outcome === 'ok').length,
      })
    case 'tool.remote.requested':
      return mark(here, 'provost.remote.requested', callOf(run, event))
    case 'tool.remote.resolved':
      return mark(here, 'provost.remote.resolved', answered(run, event, ctx))
    case 'input.requested':
      return mark(here, 'provost.input.requested', callOf(run, event))
    case 'input.resolved':
      return mark(here, 'provost.input.resolved', answered(run, event, ctx))
    case 'agent.steered':
      return mark(here, 'provost.steered')
    case 'agent.followup.queued': {
      meters?.count('queued', {})
      return mark(here, 'provost.followup')
    }
    case 'model.fallback': {
      const models = { 'provost.model.from': record.name(event.from), 'provost.model.to': record.name(event.to) }
      meters?.count('fallbacks', { ...models, [attr.errorType]: event.class })
      return mark(here, 'provost.model.fallback', { ...models, [attr.errorType]: event.class })
    }
    case 'model.retry': {
      const model = { [attr.requestModel]: record.name(event.model), [attr.errorType]: event.class }
      meters?.count('retries', model)
      return mark(here, 'provost.model.retry', {
        ...model,
        [own.attempt]: event.attempt,
        'provost.retry_after_s': event.afterMs / 1000,
      })
    }
    case 'context.compacted': {
      const { beforeTokens, afterTokens, durationMs, source } = event
      run.compacted()
      meters?.compaction(durationMs / 1000, beforeTokens - afterTokens, { 'provost.compaction.source': source })
      return mark(here, 'provost.context.compacted', {
        'provost.compaction.tokens_before': beforeTokens,
        'provost.compaction.tokens_after': afterTokens,
        'provost.compaction.source': source,
        'provost.compaction.duration_s': durationMs / 1000,
      })
    }
    case 'handoff.start': {
      const { callId, to, mode } = event
      const call = run.call(callId)
      if (call) return call.transfers(to, mode)
      // The call of a return handoff lasts as long as the other agent's work, which starts next.
      if (mode === 'return') return run.noteTarget(callId, to)
      const tool = record.name(run.nameOf(callId) ?? 'transfer')
      run.enter(`handoff ${callId}`, `execute_tool ${tool} ${record.name(to)}`, {
        [attr.operation]: 'execute_tool',
        [attr.toolName]: tool,
        [attr.toolCallId]: callId,
        [attr.toolType]: 'function',
        [attr.transferMode]: 'pass_control',
        [attr.transferTarget]: record.name(to),
      })
      return
    }
    case 'handoff.end':
      return handedOff(run, event)
    case 'fanout.start': {
      run.fansOut(event.callId, new Set(event.children.map(({ runId }) => runId)), {
        [attr.operation]: 'invoke_workflow',
        [attr.workflowName]: 'fan_out',
        'provost.fanout.strategy': event.strategy,
        'provost.fanout.children': event.children.length,
      })
      return
    }
    case 'fanout.child':
      return mark(run.fanOut(event.callId) ?? here, 'provost.fanout.child', {
        'provost.fanout.key': record.name(event.key),
        [own.runStatus]: event.status,
        [own.cost]: event.cost,
        [attr.errorType]: event.error && record.name(codeOf(event.error.code)),
      })
    case 'fanout.merged': {
      const took = run.merged(event.callId, { 'provost.fanout.used': event.used.length })
      if (took !== undefined) meters?.workflow(took, { [attr.workflowName]: 'fan_out' })
      return
    }
    case 'evaluator.iteration':
      return mark(spanOf(run, event.callId), 'provost.evaluator.iteration', {
        'provost.evaluator.iteration': event.iteration,
        'provost.evaluator.accepted': event.accepted,
        'provost.evaluator.score': event.score,
      })
    case 'governance.flagged':
    case 'governance.blocked':
    case 'governance.declassified':
      return governed(run, event, ctx)
    case 'progress.written':
      return mark(here, 'provost.progress.written', { 'provost.progress.bytes': event.bytes })
    case 'file.generated':
      return mark(here, 'provost.file.generated', { 'provost.file.media_type': record.name(event.file.mediaType) })
    case 'extension': {
      if (event.name === 'orchestrator') planned(run, event)
      else recalled(run, event, ctx)
      return
    }
    default:
      return assertNever(event)
  }
}

/** Returns the span of an open call, otherwise the current span. */
function spanOf(run: TracedRun, callId: string | undefined): Span {
  const call = callId === undefined ? undefined : run.call(callId)
  return call?.span ?? run.current()
}

function callOf({ parts }: TracedRun, event: { readonly callId: string; readonly toolName: string }): SpanAttributes {
  return { [attr.toolName]: parts.record.name(event.toolName), [attr.toolCallId]: event.callId }
}

/** Describes the effect of a call. Its key comes from the arguments, so it is recorded only where they are. */
function effectOf(
  run: TracedRun,
  { effectStatus }: { readonly effectStatus?: EffectStatus },
  ctx: HookContext,
): SpanAttributes {
  if (!effectStatus) return {}
  const { record } = run.parts
  const { key, scope, attempt, state, by, clearedBy } = effectStatus
  const isShown = key !== undefined && record.records('tools')
  return {
    [own.effectState]: state,
    [own.effectScope]: scope,
    [own.effectAttempt]: attempt,
    [own.effectBy]: by,
    [own.effectClearedBy]: clearedBy,
    [own.effectKey]: isShown ? record.value(key, run.isSecret(ctx)) : undefined,
  }
}

/** Seconds since the approval was requested, in any process. */
function waitedFor(
  run: TracedRun,
  event: { readonly token: string; readonly at: number },
  ctx: HookContext,
): number | undefined {
  const since = run.waitedSince(event.token, ctx)
  return since === undefined ? undefined : Math.max(0, event.at - since) / 1000
}

function answered(
  run: TracedRun,
  event: EventOf<'tool.remote.resolved'> | EventOf<'input.resolved'>,
  ctx: HookContext,
): SpanAttributes {
  const { record } = run.parts
  return { ...callOf(run, event), [own.by]: record.name(event.by), [own.waited]: waitedFor(run, event, ctx) }
}

/** Returns the result of the only call of a run as the message that the run answers. */
function outputMessage(
  run: TracedRun,
  { callId, output, label, at }: EventOf<'tool.execute.end'>,
  ctx: HookContext,
): Message {
  const value = run.isSecret(ctx) ? withheld : outputValue(output)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { id: callId, role: 'assistant', content: [{ type: 'text', text }], createdAt: at, label }
}

function outputOf(run: TracedRun, event: EventOf<'tool.execute.end'>, ctx: HookContext): { output?: string } {
  const { record } = run.parts
  if (!record.records('tools')) return {}
  return { output: record.value(outputValue(event.output), isSecret(event.label) || run.isSecret(ctx)) }
}

function governed(
  run: TracedRun,
  event: EventOf<'governance.flagged'> | EventOf<'governance.blocked'> | EventOf<'governance.declassified'>,
  ctx: HookContext,
): void {
  const { record, meters } = run.parts
  const { type, rule, callId, sources, evidence } = event
  const decision = type.slice('governance.'.length)
  const known = { [own.decision]: decision, [own.rule]: record.name(rule) }
  meters?.count('governance', known)
  mark(spanOf(run, callId), `provost.${type}`, {
    ...known,
    [attr.toolCallId]: callId,
    [own.sources]: sources.slice(0, 32).map((source) => record.name(source)),
    [own.evidence]: record.records('tools') && !run.isSecret(ctx) ? record.json(evidence) : undefined,
  })
}

/** After a transfer, another agent continues the run: its work is recorded under a span of its own. */
function handedOff(run: TracedRun, { callId, to, mode, status }: EventOf<'handoff.end'>): void {
  const { record } = run.parts
  if (status === 'denied')
    fail(run.call(callId)?.span ?? run.current(), record, { code: 'handoff-denied', message: '' }, false)
  run.leave(`handoff ${callId}`)
  if (status !== 'accepted' || mode === 'return') return
  // The previous agent's span ends.
  run.leave('active agent')
  const agent = record.name(to)
  run.enter('active agent', `invoke_agent ${agent}`, {
    [attr.operation]: 'invoke_agent',
    [attr.agentName]: agent,
  })
}

/** Records the recalled items that a memory reports. */
function recalled(run: TracedRun, event: EventOf<'extension'>, ctx: HookContext): void {
  const { record } = run.parts
  const data: Json = event.data
  if (!isRecord(data) || data['type'] !== 'recalled' || !Array.isArray(data['items'])) return
  const { items, query, durationMs } = data
  const name = record.name(event.name)
  const tellable = record.records('messages') && !run.isSecret(ctx)
  const took = typeof durationMs === 'number' ? Math.max(0, durationMs) : 0
  const given: SpanAttributes = {
    [attr.operation]: 'retrieval',
    [own.foundCount]: items.length,
    [own.query]: tellable && typeof query === 'string' ? record.text(query) : undefined,
    [own.found]: tellable ? record.json(items.map(shownItem)) : undefined,
  }
  run.enter('retrieval', `retrieval ${name}`, given, performance.now() - took)
  run.leave('retrieval')
}

/** A secret item is only counted. Even the words of the search hit would reveal it. */
function shownItem(item: unknown): unknown {
  if (!isRecord(item)) return withheld
  return item['confidentiality'] === 'secret' ? { kind: item['kind'], text: withheld } : item
}

/** Records the events of `planAndExecute`: plans and steps are spans, and the work for a step is recorded under it. */
function planned(run: TracedRun, event: EventOf<'extension'>): void {
  const { record } = run.parts
  const data: Json = event.data
  if (!isRecord(data)) return
  const { revision, index, of, status } = data
  if (event.event === 'plan.made' && Array.isArray(data['steps'])) {
    const agent = record.name(event.agent)
    const plan = { [attr.operation]: 'plan', [attr.agentName]: agent, 'provost.plan.steps': data['steps'].length }
    run.enter('plan', `plan ${agent}`, { ...plan, 'provost.plan.revision': Number(revision) }, run.lastChat())
    run.leave('plan')
  } else if (event.event === 'plan.step.start') {
    run.enter('plan step', `invoke_workflow step ${Number(index)} of ${Number(of)}`, {
      [attr.operation]: 'invoke_workflow',
      [attr.workflowName]: 'plan step',
      'provost.plan.revision': Number(revision),
    })
  } else if (event.event === 'plan.step.end') {
    if (typeof status === 'string') run.current().setAttribute('provost.plan.step_status', record.name(status))
    const took = run.leave('plan step')
    if (took !== undefined) run.parts.meters?.workflow(took, { [attr.workflowName]: 'plan step' })
  }
}
