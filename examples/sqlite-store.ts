// Sessions in a file: another agent object, in this process or the next, goes on with what the first one was told.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, textOf } from 'provost'
import { forkSession } from 'provost/sessions'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { text: 'Hello Ada.' },
    ({ messages }) => ({ text: `Ada, you told me ${messages.length - 1} messages ago.` }),
    { text: 'Grace, you said.' },
  ])
const folder = mkdtempSync(join(tmpdir(), 'provost-'))
const file = join(folder, 'sessions.db')

const first = sqliteStore(file)
const { sessionId } = await createAgent({ name: 'friend', model, store: first }).run('My name is Ada.')
await first.close()

// As after a restart: the file is all there is.
const store = sqliteStore(file)
const agent = createAgent({ name: 'friend', model, store })
console.log((await agent.run('What is my name?', { sessionId })).text) // → Ada, you told me 2 messages ago.

for await (const { id, status } of store.list()) console.log(id === sessionId, status) // → true idle

// A fork goes on from the last turn by itself; the original does not hear of it.
const fork = await forkSession(store, sessionId)
console.log((await agent.run('Call me Grace.', { sessionId: fork.sessionId })).text) // → Grace, you said.

const said: string[] = []
for await (const entry of store.read(sessionId)) if (entry.type === 'message') said.push(textOf(entry.message))
console.log(said.join(' | ')) // → My name is Ada. | Hello Ada. | What is my name? | Ada, you told me 2 messages ago.

await store.delete(sessionId)
await store.close()
rmSync(folder, { recursive: true })
