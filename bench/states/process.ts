import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { BenchPlan } from '../report/row.ts'
import type { Told } from './child.ts'
import type { Subject } from './imports.ts'

const childFile = fileURLToPath(new URL('child.ts', import.meta.url))

/** A fresh process of one runtime. */
export interface Fresh {
  readonly imported: Told
  /** Runs it so often. @returns `undefined` if that takes longer than `limitMs`; the process is gone then. */
  run(runs: number, limitMs?: number): Promise<Told | undefined>
  end(): void
}

/**
 * Starts a process that imports a runtime. The packages are those that are built, as users get them; where a bench is only
 * tried, it reads the sources. No compiled code is kept from one process to the next.
 */
export async function startFresh(plan: BenchPlan, subject: Subject, steps?: number): Promise<Fresh> {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const args = [subject, ...(steps === undefined ? [] : [String(steps)])]
  const execArgv = plan.effort === 'quick' ? process.execArgv : []
  const child = fork(childFile, args, { env, execArgv, stdio: ['ignore', 2, 'inherit', 'ipc'] })
  const imported = await told(child)
  if (!imported) throw new Error(`The process of ${subject} ended before it had imported anything.`)
  return {
    imported,
    async run(runs, limitMs) {
      child.send(runs)
      const timer = limitMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), limitMs)
      const answer = await told(child)
      clearTimeout(timer)
      return answer
    },
    end() {
      if (child.connected) child.disconnect()
    },
  }
}

async function told(child: ChildProcess): Promise<Told | undefined> {
  const stop = new AbortController()
  const { signal } = stop
  try {
    const message = once(child, 'message', { signal }).then(([answer]: Told[]) => answer)
    return await Promise.race([message, once(child, 'exit', { signal }).then(() => undefined)])
  } finally {
    stop.abort()
  }
}
