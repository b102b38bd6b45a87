import { threadFlags } from '@provost/core'
import { expect, test, vi } from 'vitest'

test('a thread of Node reads its own folders and nothing else, whatever isolation is asked for', () => {
  for (const isolation of ['thread', 'engine'] as const) {
    expect(threadFlags(isolation, ['/own'], 'codeMode')).toEqual([
      '--no-warnings',
      '--permission',
      '--allow-fs-read=/own',
    ])
  }
})

test.for(['bun', 'deno'])('%s restricts no thread: only who asks for the engine alone gets one', (name) => {
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, [name]: '1.0.0' })
  expect(() => threadFlags('thread', ['/own'], 'codeMode')).toThrow(
    expect.objectContaining({ code: 'no-thread-isolation', hint: expect.stringContaining("isolation: 'engine'") }),
  )
  expect(threadFlags('engine', ['/own'], 'codeMode')).toEqual([])
})
