import type { ExecResult, Tool } from '@provost/core'
import { z } from 'zod'

import { rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'

const maxCharacters = 30_000
const defaultMs = 120_000
const maxMs = 600_000

/**
 * Runs a shell command in the working directory and streams what it prints. The result keeps 30,000 characters of each
 * output, the beginning and the end of a longer one.
 */
export const bashTool: Tool<{ command: string; timeoutMs?: number | undefined }, ExecResult, unknown> = tool({
  name: 'bash',
  description:
    'Runs a shell command in the working directory. What it leaves running in the background ends with the call.',
  effect: 'egress',
  sandbox: 'process',
  // The end states the outcome.
  truncation: 'middle',
  executionMode: 'sequential',
  // The limit of the command comes first, so that its output until then is kept.
  timeoutMs: maxMs + 10_000,
  input: z.object({
    command: z.string().min(1),
    timeoutMs: z.int().min(1).max(maxMs).default(defaultMs).describe('Milliseconds until it is killed.'),
  }),
  async *execute({ command, timeoutMs }, ctx) {
    const printed: string[] = []
    let result: ExecResult | undefined
    let failure: { readonly error: unknown } | undefined
    let wake = (): void => undefined
    const onOutput = (chunk: string): void => {
      printed.push(chunk)
      wake()
    }
    void ctx.runtime
      .exec(command, { timeout: timeoutMs, signal: ctx.signal, onOutput })
      .then(
        (done) => void (result = done),
        (error: unknown) => void (failure = { error }),
      )
      .then(() => wake())
    for (;;) {
      if (printed.length > 0) yield printed.splice(0).join('')
      else if (failure) throw failure.error
      else if (result) return shown(result)
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  },
})

function shown(result: ExecResult): ReturnType<typeof rich<ExecResult>> {
  const stdout = shorten(result.stdout)
  const stderr = shorten(result.stderr)
  const truncated = result.truncated || stdout !== result.stdout || stderr !== result.stderr
  const parts = [stdout.trimEnd()]
  if (stderr !== '') parts.push(`[stderr]\n${stderr.trimEnd()}`)
  if (result.exitCode !== 0) parts.push(`[exit code ${result.exitCode}]`)
  if (truncated) parts.push('[Some output was left out.]')
  const text = parts.filter((part) => part !== '').join('\n')
  return rich(
    { stdout, stderr, exitCode: result.exitCode, truncated },
    { content: [{ type: 'text', text: text || '[No output.]' }] },
  )
}

/** Keeps the start, which states the actions, and the end, which states the outcome. */
function shorten(text: string): string {
  if (text.length <= maxCharacters) return text
  const half = maxCharacters / 2
  return `${text.slice(0, half)}\n[… ${text.length - maxCharacters} characters left out …]\n${text.slice(-half)}`
}
