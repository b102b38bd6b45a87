// The other process of a check: node worker-child.js MODULE ARGUMENT OUTSIDE LEASE MOMENT
import { once } from 'node:events'

import { engineDesk } from './engine-desk.ts'
import type { EngineMoment } from './engine-desk.ts'
import type { EngineModule } from './subject.ts'

const [module = '', argument = '', outside = '', leaseMs = '', holds = ''] = process.argv.slice(2)

/** Stops at the moment that the check chose, until the process is stopped and continued. */
async function hold(moment: EngineMoment): Promise<void> {
  if (moment !== holds) return
  process.stdout.write('reached\n')
  await once(process, 'SIGCONT')
}

const { open }: EngineModule = await import(module)
const { desk, chief } = engineDesk(outside, Number(leaseMs), hold)
const { createWorker } = await open(argument, desk, chief)
createWorker({ concurrency: 16 })
// It lives only as long as the process of the check.
process.stdin.on('end', () => process.exit(1)).resume()
process.stdout.write('serves\n')
