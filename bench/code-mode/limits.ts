import { setTimeout as sleep } from 'node:timers/promises'

import { createSandbox, type Sandbox, type SandboxLimits } from 'provost/code-mode'

import { median } from '../measure.ts'

/** How a script runs into a limit. */
interface Breach {
  readonly name: string
  readonly limits?: SandboxLimits
  readonly source: string
  /** The error it has to end with. */
  readonly code: string
  /** When the limit is reached, in ms after the start; 0 where it is a matter of size or number. */
  readonly due?: number
}

const due = 200
const nothing = 'await new Promise(() => {})'
/** The engine looks at nothing else while it divides, for seconds: the thread has to be ended. */
const dividing = 'return String(2n ** 999_000n).length'

const breaches: readonly Breach[] = [
  { name: 'cpuMs, a loop', limits: { cpuMs: due }, source: 'for (;;);', code: 'cpu-limit', due },
  { name: 'cpuMs, one long operation', limits: { cpuMs: due }, source: dividing, code: 'cpu-limit', due },
  { name: 'cpuMs, a chain of promises', limits: { cpuMs: due }, source: 'for (;;) await null', code: 'cpu-limit', due },
  { name: 'wallMs, a slow call', limits: { wallMs: due }, source: 'return tools.slow()', code: 'wall-limit', due },
  { name: 'wallMs, a loop', limits: { wallMs: due }, source: 'for (;;);', code: 'wall-limit', due },
  { name: 'wallMs, one long operation', limits: { wallMs: due }, source: dividing, code: 'wall-limit', due },
  { name: 'fuel', limits: { fuel: 100 }, source: 'for (;;);', code: 'fuel-limit' },
  {
    name: 'memoryBytes',
    source: `const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1))`,
    code: 'memory-limit',
  },
  { name: 'stackBytes', source: 'const f = () => f() + 1; return f()', code: 'stack-limit' },
  { name: 'toolCalls, one by one', source: 'for (;;) await tools.fast()', code: 'call-limit' },
  { name: 'toolCalls, at once', source: 'for (;;) tools.fast()', code: 'call-limit' },
  { name: 'argBytes', source: `return tools.fast({ text: 'x'.repeat(2e6) })`, code: 'argument-size' },
  { name: 'replyBytes', source: 'return (await tools.large()).length', code: 'reply-size' },
  { name: 'outputBytes', source: `return 'x'.repeat(1e6)`, code: 'output-size' },
  { name: 'deadlock', source: nothing, code: 'deadlock' },
  { name: 'abort of a slow call', source: 'return tools.slow()', code: 'aborted', due },
  { name: 'abort of a loop', source: 'for (;;);', code: 'aborted', due },
]

const tools = { fast: () => 1, slow: () => sleep(60_000, 1, { ref: false }), large: () => 'x'.repeat(5e6) }

async function lateness(sandbox: Sandbox, { name, source, code, due: at = 0 }: Breach): Promise<number> {
  const stop = new AbortController()
  const start = performance.now()
  if (code === 'aborted') setTimeout(() => stop.abort(), at)
  const { error } = await sandbox.run(source, { tools, signal: stop.signal })
  if (error?.code !== code) throw new Error(`${name} ended with ${error?.code}: ${error?.message}`)
  return performance.now() - start - at
}

/** How long after each limit a script has ended, in ms: the median and the worst of so many times. */
export async function limitsHeld(times: number): Promise<Record<string, { medianMs: number; worstMs: number }>> {
  const rows: Record<string, { medianMs: number; worstMs: number }> = {}
  for (const breach of breaches) {
    const sandbox = createSandbox({ workers: 1, limits: breach.limits })
    const late: number[] = []
    for (let i = 0; i < times; i++) {
      // A thread that was ended has been replaced by then.
      await sandbox.run('return 1')
      late.push(await lateness(sandbox, breach))
    }
    await sandbox.close()
    rows[breach.name] = { medianMs: Math.round(median(late)), worstMs: Math.round(Math.max(...late)) }
  }
  return rows
}
