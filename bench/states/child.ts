import { keepCompiledCode } from '../kept-code.ts'
import type { Contender } from '../loop/contender.ts'
import { imports } from './imports.ts'
import type { Subject } from './imports.ts'

// A process that tells what it costs to import a runtime and to run it, first once, then as often as the parent says:
// node child.ts SUBJECT [STEPS]. Without a number of steps it imports, and ends. What the script needs is imported
// after that, because runtimes need the same packages.

/** What the process tells. Times are in milliseconds, for the import and the first run in all. */
export interface Told {
  /** CPU of all threads, and of the main one alone. */
  readonly cpuMs: number
  readonly mainMs: number
  readonly wallMs: number
  /** Most memory the process has had until then, in MB. */
  readonly peakMB: number
}

async function measured(work: () => Promise<unknown>): Promise<Told> {
  const [cpu, main, wall] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()]
  await work()
  const [used, own] = [process.cpuUsage(cpu), process.threadCpuUsage(main)]
  return {
    cpuMs: (used.user + used.system) / 1_000,
    mainMs: (own.user + own.system) / 1_000,
    wallMs: performance.now() - wall,
    peakMB: process.resourceUsage().maxRSS / 1_024,
  }
}

/** Runs after which a store is emptied, uncounted. */
const batch = 50

function sum(a: Told, b: Told): Told {
  return {
    cpuMs: a.cpuMs + b.cpuMs,
    mainMs: a.mainMs + b.mainMs,
    wallMs: a.wallMs + b.wallMs,
    peakMB: Math.max(a.peakMB, b.peakMB),
  }
}

async function contenderOf(subject: Subject): Promise<Contender> {
  if (subject === 'provost') return (await import('../loop/provost.ts')).provost
  if (subject === 'ai') return (await import('../loop/ai.ts')).toolLoopAgent
  if (subject in imports) {
    const { loadPeer } = await import('../loop/peers.ts')
    const peers = { openai: 'openaiAgents', pi: 'pi', langgraph: 'langgraph', mastra: 'mastra' } as const
    if (subject in peers) return loadPeer(peers[subject as keyof typeof peers])
  }
  throw new Error(`${subject} has no loop.`)
}

function isSubject(name: string | undefined): name is Subject {
  return name !== undefined && name in imports
}

const [, , subject, length] = process.argv
if (process.send && isSubject(subject)) {
  process.send(await measured(imports[subject].load))
  if (length === undefined) process.disconnect()
  else {
    keepCompiledCode()
    const steps = Number(length)
    const { check } = await import('../loop/script.ts')
    const { name, prepare } = await contenderOf(subject)
    const run = prepare(steps)
    process.on('message', (runs) => void repeat(Number(runs)))
    process.once('disconnect', () => process.exit())

    async function repeat(runs: number): Promise<void> {
      let told: Told | undefined
      for (let left = runs; left > 0; left -= batch) {
        const more = await measured(async () => {
          for (let n = Math.min(batch, left); n > 0; n--) check(name, steps, await run())
        })
        told = told ? sum(told, more) : more
        await run.forget?.()
      }
      process.send?.(told)
    }
  }
}
