import type { AgentEvent, Compensation, Entry, ErrorInfo, Message, ToolOutput } from '@provost/core'
import { assertNever, hasTrait } from '@provost/core'

/** Converts events, messages and errors to what clients may receive. */
export interface ClientRedaction {
  event(event: AgentEvent): AgentEvent
  message(message: Message): Message
  error(error: ErrorInfo): ErrorInfo
  compensation(given: Compensation): Compensation
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
const foreignWords: ReadonlySet<string> = new Set([
  ...['unexpected', 'tool-failed', 'hook-failed', 'fan-out-failed', 'store-failed', 'init-failed', 'callback-failed'],
  ...['orchestrator-failed', 'model-failed'],
])
const hiddenOutput: ToolOutput = Object.freeze({ type: 'error-text', value: 'The tool failed.' })

/**
 * Hides the text of exceptions from clients: they receive the code and a general text. The log, the model, spans and
 * `onError` have the text.
 *
 * @param exposeErrors sends the text to clients too.
 */
export function createClientRedaction(exposeErrors: boolean): ClientRedaction {
  if (exposeErrors) return { event: same, message: same, error: same, compensation: same, entry: same }
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
    if (!hasTrait(given, 'exposes')) return given
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

  function compensation(given: Compensation): Compensation {
    const impossible = given.impossible.map((one) => {
      if (!one.error || ownWords.has(one.error.code)) return one
      return { ...one, reason: 'The compensation failed.', error: toolError(one.error) }
    })
    return { ...given, impossible }
  }

  return { event, message, error: runError, compensation, entry }
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
  return kind === 'hook' || kind === 'listener'
    ? general(error, 'A part of the server outside the run failed.')
    : runError(error)
}

function general({ code, retryable }: ErrorInfo, message: string): ErrorInfo {
  return { code, message, ...(retryable !== undefined && { retryable }) }
}
