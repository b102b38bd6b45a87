import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import type { AgentEvent } from 'provost'

import type { Options } from './options.ts'

/** What `npm start` shows first. The last one is begun by a process that is killed. */
export const tour: readonly { readonly mail: string; readonly title: string }[] = [
  {
    mail: '16-injected-attachment.eml',
    title: 'An attachment gives orders in invisible characters. The model obeys; the call is stopped.',
  },
  { mail: '06-csv-attachment.eml', title: 'A large refund waits for a human.' },
  { mail: '01-refund-request.eml', title: 'The process is killed after it has paid. The next one pays nothing twice.' },
]

/** The mail that another process begins. */
export const killedMail = '01-refund-request.eml'

/** Calls after whose end the process is killed. On a second start nothing is left to refund. */
const last: ReadonlySet<string> = new Set(['refund', 'write_letter'])

/**
 * Handles a mail in another process, and kills it (SIGKILL) once it has paid. Yields its events until then.
 *
 * @param signal kills it earlier.
 */
export async function* beginAndKill(
  { data, model, policy, codeMode }: Options,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const args = ['--only', killedMail, '--json', `--data=${data}`]
  if (model !== undefined) args.push(`--model=${model}`)
  if (!policy) args.push('--no-policy')
  if (codeMode) args.push('--code-mode')
  const main = join(import.meta.dirname, 'main.ts')
  const child = spawn(process.execPath, [...process.execArgv, main, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const closed = once(child, 'close')
  const kill = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const event: AgentEvent = JSON.parse(text)
      yield event
      if (event.type === 'tool.execute.end' && event.parents.length === 0 && last.has(event.toolName)) return
    }
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    await closed
  }
}
