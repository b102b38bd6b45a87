// A store of your own: sessions in a key-value map, checked by the suite that every store passes.
import { storeConformance } from '@provost/testing'
import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'

import { keyValueStore } from './custom-store/key-value-store.ts'
import type { KeyValues } from './custom-store/key-value-store.ts'

function mapInMemory(): KeyValues {
  const map = new Map<string, string>()
  return {
    get: (key) => map.get(key),
    set: (key, value) => void map.set(key, value),
    delete: (key) => void map.delete(key),
    keys: (prefix) => [...map.keys()].filter((key) => key.startsWith(prefix)),
  }
}

// In tests of your own, pass each check to the test framework: `test.each(suite.checks)('$name', ({ run }) => run())`.
const suite = storeConformance({
  sharing: 'memory',
  place: () => ({ open: () => keyValueStore(mapInMemory()), remove() {} }),
})
const failures: unknown[] = []
for (const { name, run } of suite.checks) await run().catch((error: unknown) => failures.push([name, error]))
await suite.close()
console.log(failures) // → []

// All state is in the map, so another store on it continues the session.
const map = mapInMemory()
const model = process.env.PROVOST_MODEL ?? scriptedModel([{ text: 'Hello Ada.' }, { text: 'Your name is Ada.' }])
const first = keyValueStore(map)
const { sessionId } = await createAgent({ name: 'desk', model, store: first }).run('My name is Ada.')
await first.close()

const store = keyValueStore(map)
const { text } = await createAgent({ name: 'desk', model, store }).run('What is my name?', { sessionId })
console.log(text) // → Your name is Ada.
for await (const { id, status } of store.list()) console.log(id === sessionId, status) // → true idle
await store.delete(sessionId)
console.log([...map.keys('')]) // → [ 'fence' ]
