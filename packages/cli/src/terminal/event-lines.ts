import type { AgentEvent, EventOf, GovernanceRow, Json, Label, ToolOutput, UsageReport } from '@provost/core'
import { assertNever, displayText, eventFilter, questionText } from '@provost/core'
import { isRecord } from '@provost/core'

import type { Terminal } from '../command/terminal.ts'

/** What is shown of a run. */
const isShown = eventFilter('run', 'turn', 'step', 'message', 'tool-call', 'wait', 'model', 'team', 'governance')

/** How events become lines. */
export interface LineOptions {
  readonly terminal: Terminal
  /** Characters of a text at most. */
  readonly limit: number
  /** Shows the texts of the agent itself; a run that streams them has shown them. */
  readonly texts: boolean
}

/** Returns the lines that show an event. All text from outside is safe to print. */
export function eventLines(event: AgentEvent, { terminal, limit, texts }: LineOptions): readonly string[] {
  const { bold, dim, red, yellow, green } = terminal
  const one = (value: unknown): string => displayText(value, { limit })
  const name = (value: string): string => displayText(value, { limit: 128 })
  const block = (text: string): string => displayText(text, { limit, lines: true }).replaceAll('\n', '\n  ')
  if (!isShown(event)) return []
  switch (event.type) {
    case 'agent.start':
      return event.input.map(
        (message) => `${bold('user')}${labelText(message.label)}  ${block(textIn(message.content))}`,
      )
    case 'agent.resumed':
      return [dim('resumed')]
    case 'agent.error':
      return [
        red(`✗ ${event.source.kind} ${name(event.source.name)}: ${event.error.code}: ${one(event.error.message)}`),
      ]
    case 'agent.end':
      return [endText(event, terminal)]
    case 'message.end': {
      const { message, discarded } = event
      if (discarded) return [yellow('the attempt failed and is discarded')]
      const text = texts && message.role === 'assistant' ? textIn(message.content) : ''
      return text === '' ? [] : [`${bold(name(event.agent))}${labelText(message.label)}  ${block(text)}`]
    }
    case 'agent.steered':
    case 'agent.followup.queued':
      return [`${bold(event.type === 'agent.steered' ? 'user (steers)' : 'user (next)')}  ${block(event.text)}`]
    case 'tool.execute.start':
      return [`→ ${name(event.toolName)} ${dim(one(event.input))}`]
    case 'tool.execute.end': {
      const failed = event.output.type === 'error-text' || event.output.type === 'error-json'
      const denied = event.output.type === 'execution-denied'
      const mark = failed || denied ? red('✗') : green('✓')
      return [`${mark} ${name(event.toolName)}${labelText(event.label)} ${dim(one(outputIn(event.output)))}`]
    }
    case 'tool.execute.error':
      return [red(`✗ ${name(event.toolName)}: ${event.error.code}: ${one(event.error.message)}`)]
    case 'tool.skipped':
      return [yellow(`– ${name(event.toolName)} skipped: ${one(event.reason)}`)]
    case 'tool.uncertain':
      return [yellow(`? ${name(event.toolName)}: its outcome is unknown ${one(event.input)}`)]
    case 'tool.approval.requested':
      return [yellow(`? ${questionText(event)}`)]
    case 'tool.approval.resolved':
      return [
        `? ${name(event.toolName)}: ${event.decision} by ${name(event.by)}${event.reason === undefined ? '' : `: ${one(event.reason)}`}`,
      ]
    case 'tool.batch.settled':
      return [`batch: ${event.rows.map(({ toolName, outcome }) => `${name(toolName)} ${outcome}`).join(', ')}`]
    case 'tool.remote.requested':
      return [yellow(`? ${name(event.toolName)} waits for its result ${one(event.input)}`)]
    case 'tool.remote.resolved':
      return [`? ${name(event.toolName)}: result by ${name(event.by)}`]
    case 'input.requested':
      return [yellow(`? ${name(event.toolName)} asks: ${one(event.message)}`)]
    case 'input.resolved':
      return [`? ${name(event.toolName)}: answered by ${name(event.by)}`]
    case 'model.retry':
      return [yellow(`${name(event.model)} failed (${event.class}): retry ${event.attempt}`)]
    case 'model.fallback':
      return [yellow(`${name(event.from)} failed (${event.class}): ${name(event.to)} continues`)]
    case 'context.compacted':
      return [dim(`context compacted: ${event.beforeTokens} to ${event.afterTokens} tokens`)]
    case 'step.end':
      return texts ? [dim(`step ${event.step}: ${usageText({ ...event.usage, byModel: {} }, event.cost)}`)] : []
    case 'handoff.start':
      return [`⇒ handoff to ${name(event.to)}`]
    case 'handoff.end':
      return event.status === 'denied' ? [red(`⇒ handoff to ${name(event.to)} denied: ${one(event.reason ?? '')}`)] : []
    case 'fanout.start':
      return [`⑂ ${event.children.map(({ key, agent = key }) => name(agent)).join(', ')}`]
    case 'fanout.merged':
      return [`⑃ merged from ${event.used.map(name).join(', ')}`]
    case 'evaluator.iteration':
      return [`↻ attempt ${event.iteration}: ${event.accepted ? 'accepted' : one(event.feedback)}`]
    case 'governance.flagged':
      return [yellow(`⚑ ${verdictText(event, limit)}`)]
    case 'governance.blocked':
      return [red(`⛔ ${verdictText(event, limit)}`)]
    case 'governance.declassified':
      return [`⚑ declassified: ${verdictText(event, limit)}`]
    // Other lines show the same.
    case 'turn.start':
    case 'turn.mode':
    case 'turn.end':
    case 'step.start':
    case 'agent.suspended':
    case 'message.start':
    case 'fanout.child':
      return []
    default:
      return assertNever(event)
  }
}

/** Returns ` [untrusted: mail]` for data from outside, ` [secret]` for secrets. */
export function labelText(label: Label | undefined): string {
  if (!label) return ''
  const { integrity, confidentiality, sources } = label
  const marks = [
    ...(integrity === 'untrusted' ? [`untrusted: ${displayText(sources.join(', '), { limit: 200 })}`] : []),
    ...(confidentiality === 'secret' ? ['secret'] : []),
  ]
  return marks.length === 0 ? '' : ` [${marks.join('; ')}]`
}

/** Returns the tokens and the cost of a run. */
export function usageText({ inputTokens, outputTokens }: UsageReport, cost: number | undefined): string {
  const tokens = `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out`
  return cost === undefined ? tokens : `${tokens}, $${cost.toFixed(4)}`
}

function endText({ status, usage, cost, error }: EventOf<'agent.end'>, { red, yellow, green, dim }: Terminal): string {
  const paint = status === 'completed' ? green : status === 'failed' ? red : yellow
  const why = error ? ` ${error.code}: ${displayText(error.message, { limit: 1_000 })}` : ''
  return `${paint(status)}${why} ${dim(usageText(usage, cost))}`
}

function verdictText({ rule, sources, evidence }: GovernanceRow, limit: number): string {
  const reason = isRecord(evidence) && typeof evidence['reason'] === 'string' ? evidence['reason'] : evidence
  const from = sources.length > 0 ? ` (${displayText(sources.join(', '), { limit: 200 })})` : ''
  return `${displayText(rule, { limit: 128 })}${from}: ${displayText(reason, { limit })}`
}

/** Returns the text of a message, with a mark for each part that is not text. */
function textIn(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  const shown = content.flatMap(({ type, text }) => {
    if (type === 'text' && typeof text === 'string') return [text]
    return type === 'file' ? ['[file]'] : []
  })
  return shown.join('')
}

function outputIn(output: ToolOutput): Json {
  if (output.type === 'execution-denied') return `denied${output.reason === undefined ? '' : `: ${output.reason}`}`
  return toValue(output.value)
}

/** A text stays one; anything else is shown as JSON. */
function toValue(value: unknown): Json {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
