import { spawnSync } from 'node:child_process'
import { setImmediate as tick } from 'node:timers/promises'

import { crashAt, pauseAt } from '@provost/testing'
import { expect, test } from 'vitest'

test('a process dies at its moment, by SIGKILL, and does nothing after it', () => {
  const module = new URL('../../src/process/crash.ts', import.meta.url).href
  const program = `
    const { crashAt } = await import(${JSON.stringify(module)})
    const crash = crashAt(2)
    process.once('exit', () => process.stdout.write('exit '))
    for (const name of ['a', 'b', 'c']) {
      await crash.moment(name)
      process.stdout.write(name + ' ')
    }`
  const { signal, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect([signal, stdout]).toEqual(['SIGKILL', 'a '])
})

test('with another way to die only what passes through the injector stands still, all of it and for good', async () => {
  const died: string[] = []
  const crash = crashAt(2, ({ at, name }) => void died.push(`${at} ${name}`))
  const passed: string[] = []
  for (const name of ['a', 'b', 'c']) void crash.moment(name).then(() => passed.push(name))
  await tick()
  expect([passed, died]).toEqual([['a'], ['2 b']])
  expect(crash.moments).toEqual([
    { at: 1, name: 'a' },
    { at: 2, name: 'b' },
  ])
})

test('a moment may be told by its name, whatever comes between', async () => {
  const died: number[] = []
  const { moment } = crashAt({ name: 'b', nth: 2 }, ({ at }) => void died.push(at))
  for (const name of ['a', 'b', 'a', 'a', 'b', 'b']) void moment(name)
  await tick()
  expect(died).toEqual([5])
})

test('a pause holds its own moment alone, until it is over', async () => {
  const over = Promise.withResolvers<void>()
  const { moment } = pauseAt(1, () => over.promise)
  const passed: string[] = []
  for (const name of ['a', 'b']) void moment(name).then(() => passed.push(name))
  await tick()
  expect(passed).toEqual(['b'])
  over.resolve()
  await tick()
  expect(passed).toEqual(['b', 'a'])
})
