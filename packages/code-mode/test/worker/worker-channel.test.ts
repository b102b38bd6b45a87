import { expect, it, vi } from 'vitest'

import { flag, flagCount, type FromWorker, type Task } from '../../src/worker/task.ts'
import { openWorkerChannel, type Serving } from '../../src/worker/worker-channel.ts'

const task = (): Task => ({
  source: 'return 1',
  tools: [],
  seed: [1, 2, 3, 4],
  startedAt: 0,
  delivered: [],
  flags: new SharedArrayBuffer(flagCount * 4),
})
const figures = { fuel: 0, cpuMs: 0, calls: 0, memoryBytes: 0 }
const end: FromWorker = { parked: true, delivered: 0, figures }

/** A channel with the test as its worker. */
function lineToUs() {
  const gone = Promise.withResolvers<void>()
  const serve = vi.fn((_serving: Serving, _signal: AbortSignal) => gone.promise)
  const line = openWorkerChannel(serve)
  const [serving, signal] = serve.mock.calls[0] ?? []
  const say = (message: FromWorker) => serving?.port.postMessage(message)
  const cells = () => new Int32Array(serving?.cells ?? new ArrayBuffer())
  const take = () => Atomics.add(cells(), flag.taken, 1)
  return { line, gone, say, take, cells, signal }
}

it('each task ends when the worker reports it', async () => {
  const { line, gone, say, take } = lineToUs()
  for (const said of ['first', 'second']) {
    const heard: FromWorker[] = []
    const run = line.run(task(), (message) => heard.push(message))
    take()
    say(said)
    say(end)
    expect(await run).toBe(true)
    expect(heard).toEqual([said, end])
  }
  expect(line.over).toBe(false)
  gone.resolve()
})

it('a worker is notified of a coming task, and receives it later', async () => {
  const { line, gone, say, take, cells } = lineToUs()
  line.wake()
  expect(Atomics.load(cells(), flag.expected)).toBe(1)
  expect(Atomics.load(cells(), flag.letters)).toBe(1)
  const run = line.run(task(), () => {})
  take()
  say(end)
  expect(await run).toBe(true)
  gone.resolve()
})

it('a task that an exited worker did not accept goes to another worker', async () => {
  const { line, gone } = lineToUs()
  const run = line.run(task(), () => {})
  gone.resolve()
  expect(await run).toBe(false)
  expect(line.over).toBe(true)
})

it('an accepted task does not run again, even if the exit of its worker is seen before its end', async () => {
  const { line, gone, say, take } = lineToUs()
  const run = line.run(task(), () => {})
  take()
  gone.resolve()
  await gone.promise
  say(end)
  expect(await run).toBe(true)
})

it('a task ends when the thread of its worker is terminated', async () => {
  const { line, gone, signal, take } = lineToUs()
  const run = line.run(task(), () => {})
  take()
  line.kill()
  expect(signal?.aborted).toBe(true)
  gone.reject(new Error('ended'))
  await expect(run).rejects.toThrow('ended')
  expect(line.over).toBe(true)
})
