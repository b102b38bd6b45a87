import { join } from 'node:path'

import { memoryStore } from '@provost/sessions'
import { storeConformance } from '@provost/testing'
import type { StoreSubject } from '@provost/testing'
import { afterAll, describe, expect, test } from 'vitest'

import { newFolder } from '../fixture/folder.ts'
import { isForFullRuns } from '../fixture/full.ts'
import { open as openJsonl } from '../fixture/jsonl-place.ts'
import { open as openSqlite } from '../fixture/sqlite-place.ts'

const moduleOf = (file: string): string => new URL(`../fixture/${file}`, import.meta.url).href

const subjects: Readonly<Record<string, StoreSubject>> = {
  memoryStore: { sharing: 'memory', place: () => ({ open: memoryStore, remove() {} }) },
  jsonlStore: {
    sharing: 'one',
    place() {
      const { path, remove } = newFolder()
      return { open: () => openJsonl(path), remove, remote: { module: moduleOf('jsonl-place.ts'), argument: path } }
    },
  },
  sqliteStore: {
    sharing: 'processes',
    place() {
      const { path, remove } = newFolder()
      const argument = join(path, 'sessions.db')
      return { open: () => openSqlite(argument), remove, remote: { module: moduleOf('sqlite-place.ts'), argument } }
    },
  },
}

describe.each(Object.entries(subjects))('%s', (store, subject) => {
  const suite = storeConformance(subject)
  afterAll(suite.close)

  test.for(suite.checks)('$name', async ({ name, run }, { skip }) => {
    skip(isForFullRuns(store, name), 'in full runs')
    await expect(run()).resolves.toBeUndefined()
  })

  test('tells the owner of a lease, and when it was renewed', async () => {
    const { open, remove } = await subject.place()
    const opened = await open()
    try {
      await opened.lease('log', 'host:1/a', 60_000)
      const { owner, renewedAt = 0 } = await opened.leaseState('log')
      expect(owner).toBe('host:1/a')
      expect(Math.abs(renewedAt - Date.now())).toBeLessThan(60_000)
    } finally {
      await opened.close?.()
      await remove()
    }
  })
})
