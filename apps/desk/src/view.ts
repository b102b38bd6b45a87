import { type AgentEvent, assertNever, eventFilter, type EventOf, type Json, type ToolOutput, z } from 'provost'

import { evidenceLines } from './evidence.ts'
import type { Mail } from './mail.ts'
import { costOf, count } from './summary.ts'
import { neutralise, oneLine, type Palette } from './terminal.ts'

/** Prints events as lines for a person. */
export interface View {
  /** Starts a mail. */
  heading(mail: Mail): void
  event(event: AgentEvent): void
  /** Reports a mail that could not be read. */
  broken(mail: string, reason: string): void
}

/** What the view shows of a mail, and of the child runs that work on it. */
const isShown = eventFilter(
  ...(['run', 'step', 'message', 'text', 'reasoning', 'tool-call', 'wait', 'model'] as const),
  ...(['governance', 'team', 'extension'] as const),
)
const isOfColleague = eventFilter('run', 'text', 'tool-call', 'wait', 'governance')

/**
 * Prints the events of runs. All text is neutralised before it is written.
 *
 * @param columns width of the terminal, if it is one.
 */
export function createView(write: (text: string) => void, colours: Palette, columns = Infinity): View {
  const { bold, dim, red, green, yellow, cyan } = colours
  /** Width for text after indent, mark and name, so that most entries fit one terminal line. */
  const width = Math.max(30, Math.min(100, columns - 24))
  /** What precedes the cursor: the beginning of a line, or text of this kind. */
  let at: 'start' | 'text' | 'reasoning' = 'start'
  let steps = 0
  /** The current mail: its heading is visible, so that calls do not repeat it. */
  let current = ''
  /** Open calls of this step. A result names its call unless only one is open. */
  let open = 0
  /** What tools returned for the current mail, by entry: evidence has places in it. */
  const outputs = new Map<string, ToolOutput>()
  const verdict = (mark: string, event: Verdict): void => {
    line(`  ${mark}`)
    for (const drawn of evidenceLines(event.evidence, outputs, colours)) line(`     ${drawn}`)
  }
  /** The last reported error of each run: its end does not repeat it. */
  const reported = new Map<string, string>()
  /** Returns the message of the error of a run, unless it was reported. */
  const unreported = ({ runId, error }: EventOf<'agent.end'>): string => {
    const known = reported.get(runId)
    reported.delete(runId)
    return error === undefined || error.message === known ? '' : error.message
  }

  const endLine = (): void => {
    if (at !== 'start') write('\n')
    at = 'start'
  }
  const line = (text: string): void => {
    endLine()
    write(`${text}\n`)
  }
  const words = (kind: 'text' | 'reasoning', delta: string): void => {
    const paint = kind === 'reasoning' ? dim : (text: string): string => text
    if (at !== kind) {
      endLine()
      write('  ')
    }
    at = kind
    write(paint(neutralise(delta).replaceAll('\n', '\n  ')))
  }
  const result = (toolName: string, mark: string, text: string): void => {
    const name = open === 1 ? '' : dim(`${oneLine(toolName, 40)}: `)
    line(`    ${mark} ${name}${text}`)
  }

  /** Prints the work of a child run, which interrupts its parent's step and may run in parallel with others. */
  const colleague = (event: AgentEvent): void => {
    if (!isOfColleague(event)) return
    const said = (text: string): void => line(`    ${dim(`${oneLine(event.agent, 40)}: ${oneLine(text, width)}`)}`)
    switch (event.type) {
      case 'text.end':
        said(`“${event.text}”`)
        return
      case 'tool.execute.start':
        said(`→ ${event.toolName} ${argumentsOf(event.input, current)}`)
        return
      case 'tool.execute.error':
        said(`✗ ${event.error.message}`)
        return
      case 'tool.approval.requested':
        said(`? ${event.toolName} needs approval: ${event.reason}`)
        return
      case 'governance.flagged':
      case 'governance.blocked':
        said(verdictOf(event))
        return
      case 'agent.error':
        reported.set(event.runId, event.error.message)
        said(`✗ ${event.source.kind} ${event.source.name}: ${event.error.message}`)
        return
      case 'agent.end': {
        const message = unreported(event)
        if (event.status !== 'completed') said(`${event.status} ${message}`.trimEnd())
        return
      }
      case 'agent.start':
      case 'agent.resumed':
      case 'agent.suspended':
      case 'text.start':
      case 'text.delta':
      case 'tool.execute.end':
      case 'tool.skipped':
      case 'tool.uncertain':
      case 'tool.approval.resolved':
      case 'tool.batch.settled':
      case 'tool.remote.requested':
      case 'tool.remote.resolved':
      case 'input.requested':
      case 'input.resolved':
      case 'governance.declassified':
        return
      default:
        assertNever(event)
    }
  }

  return {
    heading(mail) {
      current = mail.name
      outputs.clear()
      const from = mail.fromName === '' ? mail.from : `${mail.fromName} <${mail.from}>`
      const subject = oneLine(mail.subject, 70) || '(no subject)'
      line(`\n${bold(oneLine(mail.name, 60))}  ${subject}  ${dim(oneLine(from, 70))}`)
    },
    broken(mail, reason) {
      line(`\n${bold(oneLine(mail, 60))}\n  ${red(`✗ ${oneLine(reason, 200)}`)}`)
    },
    event(event) {
      if (event.type === 'tool.execute.end') outputs.set(`${event.callId}/settled`, event.output)
      if (event.parents.length > 0) {
        colleague(event)
        return
      }
      if (!isShown(event)) return
      switch (event.type) {
        case 'agent.start':
          steps = 0
          return
        case 'agent.resumed':
          // Its open calls were shown before a question, or by another process.
          open = 0
          return
        case 'step.start':
          steps += 1
          open = 0
          return
        case 'reasoning.delta':
          words('reasoning', event.delta)
          return
        case 'text.delta':
          words('text', event.delta)
          return
        case 'reasoning.end':
        case 'text.end':
          endLine()
          return
        case 'message.end':
          if (event.discarded) line(`  ${yellow('(this attempt was discarded; another one follows)')}`)
          return
        case 'tool.execute.start':
          open += 1
          line(
            `  ${cyan('→')} ${oneLine(event.toolName, 40)} ${dim(oneLine(argumentsOf(event.input, current), width))}`.trimEnd(),
          )
          return
        case 'tool.execute.end':
          // The line of the handoff follows.
          if (event.toolName.startsWith('transfer_to_')) return
          result(
            event.toolName,
            failed(event.output) ? red('✗') : green('✓'),
            oneLine(foundOut(event) ?? briefOf(event.details, event.output), width),
          )
          return
        case 'tool.execute.error':
          result(event.toolName, red('✗'), red(oneLine(event.error.message, width * 2)))
          return
        case 'tool.skipped':
          result(event.toolName, yellow('–'), `skipped: ${oneLine(event.reason, width)}`)
          return
        case 'tool.approval.requested':
          line(`  ${yellow('?')} ${oneLine(event.toolName, 40)} needs approval: ${oneLine(event.reason, width)}`)
          for (const { path, text } of event.warnings ?? [])
            line(`    ${red('!')} ${oneLine(`${path} ${text}`, width * 2)}`)
          return
        case 'tool.approval.resolved':
          line(`  ${yellow('?')} ${oneLine(event.toolName, 40)}: ${event.decision} by ${oneLine(event.by, 40)}`)
          return
        case 'tool.batch.settled': {
          const ok = event.rows.filter(({ outcome }) => outcome === 'ok').length
          line(`  ${yellow('?')} batch: ${ok} of ${event.rows.length} calls succeeded`)
          return
        }
        case 'model.retry':
          line(`  ${yellow(`the model failed (${event.class}), trying again in ${Math.round(event.afterMs)} ms`)}`)
          return
        case 'model.fallback':
          line(
            `  ${yellow(`${oneLine(event.from, 60)} failed (${event.class}), going on with ${oneLine(event.to, 60)}`)}`,
          )
          return
        case 'agent.error':
          reported.set(event.runId, event.error.message)
          line(
            `  ${red(`✗ ${event.source.kind} ${oneLine(event.source.name, 40)}: ${oneLine(event.error.message, width * 2)}`)}`,
          )
          return
        case 'governance.flagged':
        case 'governance.declassified':
          verdict(yellow(`⚑ ${verdictOf(event)}`), event)
          return
        case 'governance.blocked':
          verdict(red(`⛔ ${verdictOf(event)}`), event)
          return
        case 'extension': {
          const { data } = recalled.safeParse(event.data)
          if (event.name !== 'memory' || !data) return
          for (const { text = 'a secret', why } of data.items)
            line(
              `  ${cyan('✎')} ${oneLine(text, width)} ${dim(`remembered for: ${oneLine(why.words.join(', '), 60)}`)}`,
            )
          return
        }
        case 'fanout.start':
          line(`    ${cyan('⑂')} ${oneLine(event.children.map(({ agent }) => agent).join(', '), width)}`)
          return
        case 'fanout.merged':
          line(`    ${cyan('⑃')} ${oneLine(`merged from ${event.used.join(' and ')}`, width)}`)
          return
        case 'evaluator.iteration': {
          const { iteration, accepted, feedback } = event
          line(`    ${cyan('↻')} attempt ${iteration}: ${accepted ? 'accepted' : oneLine(feedback, width)}`)
          return
        }
        case 'handoff.start':
          line(`  ${cyan('⇒')} ${oneLine(event.to, 40)}`)
          return
        case 'agent.end': {
          const { inputTokens = 0, outputTokens = 0 } = event.usage
          const paint = event.status === 'completed' ? green : event.status === 'suspended' ? yellow : red
          const ended = paint(event.status)
          const took = `${steps} ${steps === 1 ? 'step' : 'steps'}, ${count(inputTokens)} tokens in, ${count(outputTokens)} out, ${costOf(event.cost)}`
          line(`  ${ended} ${dim(`· ${took}`)}`)
          const message = `${unreported(event)} ${event.error?.hint ?? ''}`.trim()
          if (message !== '') line(`  ${red(oneLine(message, width * 2))}`)
          return
        }
        case 'tool.uncertain':
          line(`  ${yellow('?')} ${oneLine(event.toolName, 40)}: it is unknown whether this took place`)
          return
        // Other events appear in the lines above.
        case 'agent.suspended':
        case 'step.end':
        case 'message.start':
        case 'text.start':
        case 'reasoning.start':
        case 'tool.remote.requested':
        case 'tool.remote.resolved':
        case 'input.requested':
        case 'input.resolved':
        case 'context.compacted':
        case 'handoff.end':
        case 'fanout.child':
        case 'progress.written':
          return
        default:
          assertNever(event)
      }
    },
  }
}

type Verdict = Extract<AgentEvent, { type: `governance.${string}` }>

const recalled = z.object({
  type: z.literal('recalled'),
  items: z.array(z.object({ text: z.string().optional(), why: z.object({ words: z.array(z.string()) }) })),
})

/** Formats `orderId 1041 · amount 49.9`: short values, long ones cut, known ones left out. */
function argumentsOf(input: Json, known: string): string {
  if (typeof input !== 'object' || input === null) return String(input)
  return Object.entries(input)
    .filter(([, value]) => value !== known)
    .map(([key, value]) => `${key} ${oneLine(typeof value === 'string' ? value : JSON.stringify(value), 40)}`)
    .join(' · ')
}

/** Formats `forward_mail stopped by intent: the user's words do not ask for it`, or what would have happened. */
function verdictOf({ type, rule, evidence }: Verdict): string {
  const said = typeof evidence === 'object' && evidence !== null && !Array.isArray(evidence) ? evidence : {}
  const text = (key: string): string => {
    const value = Object.entries(said).find(([name]) => name === key)?.[1]
    return typeof value === 'string' ? value : ''
  }
  const verb =
    type === 'governance.blocked' ? 'stopped' : type === 'governance.declassified' ? 'let through' : 'questioned'
  const deed =
    text('mode') !== 'shadow' ? verb : `would have been ${text('decision') === 'deny' ? 'stopped' : 'questioned'}`
  return oneLine(`${text('tool')} ${deed} by ${rule}: ${text('reason')}`.trim(), 200)
}

/** How it was found out that a call of unknown outcome took place. */
function foundOut({ effectStatus }: EventOf<'tool.execute.end'>): string | undefined {
  if (effectStatus?.state !== 'confirmed' || effectStatus.by === 'call') return undefined
  const how = effectStatus.by === 'human' ? 'a person says so' : 'looked up'
  return `it took place (${how}): ${effectStatus.key ?? ''}`
}

/** The tool's own line about its result, otherwise the beginning of the model's result. */
function briefOf(details: Json | undefined, output: ToolOutput): string {
  if (typeof details === 'object' && details !== null && 'brief' in details && typeof details.brief === 'string')
    return details.brief
  if (output.type === 'execution-denied') return `denied${output.reason === undefined ? '' : `: ${output.reason}`}`
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}

function failed({ type }: ToolOutput): boolean {
  return type === 'error-text' || type === 'error-json' || type === 'execution-denied'
}
