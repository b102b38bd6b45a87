import { Worker } from 'node:worker_threads'

import type { Contender } from './contender.ts'

/** A thread for each script: the script is a function in it, with no sandbox at all. */
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const open = new Map()
let count = 0
parentPort.on('message', ({ id, value }) => open.get(id)(value))
const tools = new Proxy({}, { get: (_, name) => (input) => new Promise((resolve) => {
  open.set(++count, resolve)
  parentPort.postMessage({ id: count, name, input })
}) })
const AsyncFunction = (async () => {}).constructor
new AsyncFunction('tools', workerData)(tools).then((value) => { parentPort.postMessage({ done: true, value }) })
`

export function freshWorker(): Contender {
  return {
    name: 'fresh worker',
    run: (source, tools) =>
      new Promise((resolve, reject) => {
        const worker = new Worker(program, { eval: true, workerData: source, env: {} })
        worker.on('error', reject)
        worker.on('message', async (said: { id: number; name: string; input: never; done?: true; value: unknown }) => {
          if (!said.done) return worker.postMessage({ id: said.id, value: await tools[said.name]?.(said.input) })
          await worker.terminate()
          resolve(said.value)
        })
      }),
    close: async () => {},
  }
}
