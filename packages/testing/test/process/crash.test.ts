import { spawnSync } from 'node:child_process'
import { setImmediate as tick } from 'node:timers/promises'

import { crashAt, pauseAt } from '@provost/testing'
import { expect, test } from 'vitest'

test('crashAt kills the process at its moment by SIGKILL, and no later code runs', () => {
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

test('with a custom crash function, the moment and all later ones never continue', async () => {
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

test('crashAt accepts the name of a moment and its number', async () => {
  const died: number[] = []
  const { moment } = crashAt({ name: 'b', nth: 2 }, ({ at }) => void died.push(at))
  for (const name of ['a', 'b', 'a', 'a', 'b', 'b']) void moment(name)
  await tick()
  expect(died).toEqual([5])
})

test('pauseAt holds only its own moment until the pause ends', async () => {
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
