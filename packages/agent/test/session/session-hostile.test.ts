import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { SessionStore } from '@provost/core'
import { jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import { afterAll, describe } from 'vitest'

import { bearsTheWorst } from './session-hostile.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-hostile-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let opened = 0

describe.each<[string, (name: string) => SessionStore, ids?: number]>([
  ['memory', () => memoryStore(), 4],
  ['JSON lines', (name) => jsonlStore(join(folder, `${name}-${++opened}`)), 4],
  ['SQLite', (name) => sqliteStore(join(folder, `${name}-${++opened}.db`), { pollMs: 2 })],
])('a session in %s bears', (_, open, ids) => {
  bearsTheWorst(open, ids)
})
