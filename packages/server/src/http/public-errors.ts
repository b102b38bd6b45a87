import type { AgentEvent, Entry, ErrorInfo, Message, ToolOutput } from '@provost/core'
import { assertNever } from '@provost/core'

/** Converts events, messages and errors to what clients may receive. */
export interface ClientRedaction {
  event(event: AgentEvent): AgentEvent
  message(message: Message): Message
  error(error: ErrorInfo): ErrorInfo
  /** Converts an exported entry. */
  entry(entry: Entry): Entry
}

/** Codes of errors whose text is the runtime's own, without the text of an exception. */
const ownWords: ReadonlySet<string> = new Set([
  'tool-denied',
  'tool-deferred',
  'tool-timeout',
  'tool-aborted',
  'tool-abandoned',
  'tool-output-too-long',
  'invalid-tool-input',
  'unknown-tool',
])

/** Codes of run errors whose message repeats the exception of a tool, a hook or a child. */
const foreignWords: ReadonlySet<string> = new Set(['unexpected', 'tool-failed', 'hook-failed', 'fan-out-failed'])
const hiddenOutput: ToolOutput = Object.freeze({ type: 'error-text', value: 'The tool failed.' })

/**
 * Hides the text of exceptions from clients: they receive the code and a general text. The log, the model, spans and
 * `onError` have the text.
 *
 * @param exposeErrors sends the text to clients too.
 */
export function createClientRedaction(exposeErrors: boolean): ClientRedaction {
  if (exposeErrors) return { event: same, message: same, error: same, entry: same }
  const known = new WeakMap<Message, Message>()

  function message(given: Message): Message {
    const { error } = given
    if (!error && !given.content.some((part) => part.type === 'tool-result' && isError(part.output))) return given
    let made = known.get(given)
    if (!made) {
      const content = given.content.map((part) =>
        part.type === 'tool-result' && isError(part.output) ? { ...part, output: hiddenOutput } : part,
      )
      made = { ...given, content, ...(error && { error: runError(error) }) }
      known.set(given, made)
    }
    return made
  }

  const messages = (given: readonly Message[]): readonly Message[] => {
    const made = given.map(message)
    return made.some((one, n) => one !== given[n]) ? made : given
  }

  function event(given: AgentEvent): AgentEvent {
    switch (given.type) {
      case 'tool.execute.error':
        return { ...given, error: toolError(given.error) }
      case 'tool.execute.end':
        return isError(given.output) ? { ...given, output: hiddenOutput } : given
      case 'agent.error':
        return { ...given, error: errorFrom(given.source.kind, given.error) }
      case 'agent.end': {
        const own = given.error && runError(given.error)
        return { ...given, messages: messages(given.messages), ...(own && { error: own }) }
      }
      case 'fanout.child':
        return given.error ? { ...given, error: toolError(given.error) } : given
      case 'message.end':
        return { ...given, message: message(given.message) }
      case 'agent.start':
        return { ...given, input: messages(given.input) }
      case 'turn.end':
        return { ...given, messages: messages(given.messages) }
      case 'agent.followup.queued':
      case 'agent.resumed':
      case 'agent.steered':
      case 'agent.suspended':
      case 'context.compacted':
      case 'evaluator.iteration':
      case 'extension':
      case 'fanout.merged':
      case 'fanout.start':
      case 'file.generated':
      case 'governance.blocked':
      case 'governance.declassified':
      case 'governance.flagged':
      case 'handoff.end':
      case 'handoff.start':
      case 'input.requested':
      case 'input.resolved':
      case 'message.start':
      case 'model.fallback':
      case 'model.retry':
      case 'progress.written':
      case 'reasoning.delta':
      case 'reasoning.end':
      case 'reasoning.start':
      case 'source.cited':
      case 'step.end':
      case 'step.start':
      case 'text.delta':
      case 'text.end':
      case 'text.start':
      case 'tool.approval.requested':
      case 'tool.approval.resolved':
      case 'tool.call.delta':
      case 'tool.call.end':
      case 'tool.call.start':
      case 'tool.execute.partial':
      case 'tool.execute.progress':
      case 'tool.execute.start':
      case 'tool.remote.requested':
      case 'tool.remote.resolved':
      case 'tool.skipped':
      case 'tool.uncertain':
      case 'turn.mode':
      case 'turn.start':
        return given
      default:
        return assertNever(given)
    }
  }

  function entry(given: Entry): Entry {
    switch (given.type) {
      case 'message':
        return { ...given, message: message(given.message) }
      case 'run':
        return given.op === 'ended' && given.error ? { ...given, error: runError(given.error) } : given
      case 'call': {
        if (given.op !== 'settled') return given
        const output = isError(given.output) ? hiddenOutput : given.output
        return { ...given, output, ...(given.error && { error: toolError(given.error) }) }
      }
      case 'child':
        if (given.op === 'spawned') return given.with ? { ...given, with: messages(given.with) } : given
        return given.error ? { ...given, error: toolError(given.error) } : given
      case 'handoff':
        return given.with ? { ...given, with: messages(given.with) } : given
      case 'view':
        return { ...given, with: messages(given.with) }
      case 'attempt':
      case 'wait':
      case 'resolved':
      case 'tail':
      case 'memo':
      case 'ext':
      case 'audit':
        return given
      default:
        return assertNever(given)
    }
  }

  return { event, message, error: runError, entry }
}

function same<T>(value: T): T {
  return value
}

function isError({ type }: ToolOutput): boolean {
  return type === 'error-text' || type === 'error-json'
}

function toolError(error: ErrorInfo): ErrorInfo {
  return ownWords.has(error.code) ? error : general(error, 'The tool failed.')
}

function runError(error: ErrorInfo): ErrorInfo {
  return foreignWords.has(error.code) ? general(error, 'The run failed.') : error
}

function errorFrom(kind: Extract<AgentEvent, { type: 'agent.error' }>['source']['kind'], error: ErrorInfo): ErrorInfo {
  if (kind === 'tool') return toolError(error)
  return kind === 'model' || kind === 'loop'
    ? runError(error)
    : general(error, 'A part of the server outside the run failed.')
}

function general({ code, retryable }: ErrorInfo, message: string): ErrorInfo {
  return { code, message, ...(retryable !== undefined && { retryable }) }
}
