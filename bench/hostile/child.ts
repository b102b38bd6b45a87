// A process that inputs pass through, one at a time, as its parent asks.
import { join } from 'node:path'

import { memoryStore } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { corpus } from './corpus.ts'
import { closeScripts } from './doors/script.ts'
import { measured } from './gap.ts'
import type { Figures } from './gap.ts'
import { bytesLogged, readByAnother } from './second.ts'

/** What a parent asks for. */
export interface Asked {
  readonly name: string
  /** Empty, or with the store that another process left. */
  readonly folder: string
  /** The input passes, or what it left is opened. */
  readonly as: 'first' | 'second'
}

/** What a parent is told. */
export type Told =
  /** The payload is made and its door is warm: from now on the time counts. */
  | { readonly type: 'ready' }
  /** Once a second, while the event loop turns. */
  | { readonly type: 'alive' }
  | {
      readonly type: 'done'
      readonly outcome: string
      readonly figures: Figures
      readonly bytes: number
      readonly logged: number
    }

const inputs = new Map(corpus.map((input) => [input.name, input]))
const warm = new Set<string>()

async function pass({ name, folder, as }: Asked): Promise<void> {
  const input = inputs.get(name)
  if (!input) throw new Error(`There is no input ${name}.`)
  if (as === 'second') {
    const store = sqliteStore(join(folder, 'sessions.db'))
    tell({ type: 'ready' })
    const { outcome, figures } = await measured(() => readByAnother(store))
    await store.close()
    return tell({ type: 'done', outcome, figures, bytes: 0, logged: 0 })
  }
  if (!warm.has(input.door)) {
    for (let n = 0; n < 2; n++) await input.warmUp({ folder: join(folder, '..'), store: memoryStore() })
    warm.add(input.door)
  }
  const prepared = input.prepare()
  const store = input.stored ? sqliteStore(join(folder, 'sessions.db')) : memoryStore()
  tell({ type: 'ready' })
  const { outcome, figures } = await measured(() => prepared.pass({ folder, store }))
  const logged = await bytesLogged(store).catch(() => Number.NaN)
  await store.close()
  tell({ type: 'done', outcome, figures, bytes: prepared.bytes, logged })
}

function tell(told: Told): void {
  process.send?.(told)
}

setInterval(() => tell({ type: 'alive' }), 1_000)
process.on('message', (asked: Asked) => {
  pass(asked).catch((thrown: unknown) => {
    process.stderr.write(`${asked.name}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'thrown'}\n`)
    process.exit(1)
  })
})
process.on('disconnect', () => void closeScripts().finally(() => process.exit()))
