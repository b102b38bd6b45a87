import { createSandbox } from 'provost/code-mode'

import type { Contender } from './contender.ts'

/** The benchmark sets the same wide limits for every contender. With `flow` it follows each value. */
export function provost(workers: number, flow?: 'values'): Contender {
  const sandbox = createSandbox({
    workers,
    ...(flow && { flow }),
    limits: { toolCalls: 100_000, parallelCalls: 100_000, outputBytes: 4 << 20, cpuMs: 30_000 },
  })
  return {
    name: flow ? 'provost, each value followed' : 'provost',
    async run(source, tools) {
      const result = await sandbox.run(source, { tools })
      if (!result.ok) throw new Error(result.error.message)
      return result.value
    },
    close: () => sandbox.close(),
  }
}
