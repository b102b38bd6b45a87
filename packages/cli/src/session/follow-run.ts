import type { AgentStream } from '@provost/agent'
import type { AgentEvent, RunResult } from '@provost/core'
import { displayText } from '@provost/core'

import type { ExitCode } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { hintOf } from '../command/error-hint.ts'
import { watchInterruption } from '../command/interruption.ts'
import type { Terminal } from '../command/terminal.ts'
import { eventLines } from '../terminal/event-lines.ts'
import { argumentText, waitLines } from '../terminal/waits.ts'

/** A run that is shown while it lasts. */
export interface FollowedRun {
  readonly sessionId: string
  readonly stream: AgentStream<unknown>
  /** Aborted before the run is, when the person presses Ctrl-C. */
  readonly interrupt: AbortController
  /** File of the agent, for the command that resumes the session. */
  readonly file: string
}

/** Characters of an argument or a result on one line. */
const lineLimit = 300

/**
 * Shows a run until it ends or is suspended. The first Ctrl-C stops it and keeps its questions open; a second one ends
 * the process. A run whose reader has gone stops too.
 *
 * @returns the exit code.
 */
export async function followRun(terminal: Terminal, run: FollowedRun): Promise<number> {
  const { stream, interrupt } = run
  const interruption = watchInterruption(() => {
    interrupt.abort()
    void stream.abort({ onPendingApprovals: 'hold' })
  })
  try {
    const answer = createAnswer(terminal)
    for await (const event of stream) {
      if (terminal.json) await terminal.write(`${displayText(event, { limit: Infinity })}\n`)
      else await showEvent(terminal, answer, event)
    }
    const result = await stream.result
    answer.end()
    if (!terminal.json) showEnd(terminal, run, result)
    return interruption.exitCode ?? exitCodeOf(result)
  } finally {
    interruption.end()
  }
}

async function showEvent(terminal: Terminal, answer: Answer, event: AgentEvent): Promise<void> {
  const isOwn = event.parents.length === 0
  if (isOwn && event.type === 'text.delta') return answer.delta(event.delta)
  if (isOwn && event.type === 'message.end' && event.message.role === 'assistant') {
    const text = event.discarded
      ? ''
      : event.message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    await answer.message(text)
  }
  // The person has typed the input, and questions are asked one by one, or listed at the end.
  if ((isOwn && event.type === 'agent.start') || event.type === 'tool.approval.requested') return
  const indent = '  '.repeat(Math.min(event.parents.length, 8))
  for (const line of eventLines(event, { terminal, limit: lineLimit, texts: !isOwn })) {
    answer.end()
    terminal.note(`${indent}${line}`)
  }
}

/** Writes the answer to stdout: delta by delta to a terminal, elsewhere message by message. */
interface Answer {
  delta(text: string): Promise<void>
  message(text: string): Promise<void>
  /** Ends the line. */
  end(): void
}

function createAnswer({ shows, write, print }: Terminal): Answer {
  let isOpen = false
  let held = ''
  async function put(text: string): Promise<void> {
    if (text === '') return
    isOpen = !text.endsWith('\n')
    await write(displayText(text, { lines: true, limit: Infinity }))
  }
  return {
    async delta(text) {
      if (!shows) return
      const all = held + text
      // The rest of a character, or of an emoji of several, may be in the next delta.
      const [tail = ''] =
        /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u200d|\ufe0f|[\ud800-\udbff]$){1,16}$/u.exec(all) ?? []
      held = tail
      await put(all.slice(0, all.length - tail.length))
    },
    async message(text) {
      if (shows) await put(held)
      else await put(text)
      held = ''
    },
    end() {
      if (isOpen) print('')
      isOpen = false
    },
  }
}

function showEnd(terminal: Terminal, { sessionId, file }: FollowedRun, result: RunResult<unknown>): void {
  const { note, dim } = terminal
  const hint = result.status === 'failed' ? hintOf(result.error) : undefined
  if (hint) note(`  ${displayText(hint)}`)
  note(dim(`session ${displayText(sessionId)}`))
  if (result.status === 'suspended') for (const line of waitLines(sessionId, result.pending)) note(line)
  if (result.status !== 'completed')
    note(`Resume it with: provost resume ${argumentText(sessionId)} ${argumentText(file)}`)
}

function exitCodeOf({ status }: RunResult<unknown>): ExitCode {
  if (status === 'completed') return exitCodes.ok
  return status === 'suspended' ? exitCodes.suspended : exitCodes.failed
}
