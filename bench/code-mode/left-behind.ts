import { setTimeout as sleep } from 'node:timers/promises'

import { collectGarbage } from '../measure.ts'
import { provost } from './provost.ts'

/**
 * Measures what a thousand runs leave behind, in bytes of RSS, then a thousand more, and more: steady growth is a
 * leak. It needs a separate process, in which no other work allocates or frees memory.
 */
const rows = Array.from({ length: 100 }, (_, id) => ({ id, name: `name ${id}`, text: 'x'.repeat(60) }))
const source = 'const rows = await tools.few(); return rows.length + new Array(1e5).fill(1).length'
const { run, close } = provost(2)

async function runs(count: number): Promise<number> {
  for (let n = 0; n < count; n++) await run(source, { few: () => rows })
  for (let n = 0; n < 3; n++) {
    collectGarbage()
    await sleep(50)
  }
  return process.memoryUsage.rss()
}

const before = await runs(100)
const left: number[] = []
for (let thousand = 1; thousand <= 3; thousand++) left.push((await runs(1000)) - before)
await close()
process.stdout.write(JSON.stringify(left))
