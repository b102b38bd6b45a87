// Erasure: everything of a person is removed for good. The receipt verifies, and a late writer cannot bring it back.
import { createAgent, memoryStore, textOf } from 'provost'
import { auditLog, erasePrincipal, verifyAudit, verifyReceipt } from 'provost/governance'
import { createMemory } from 'provost/memory'
import { pruneSessions } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([({ messages }) => ({ text: `You have sent ${messages.length}.` })], { after: 'repeat-last' })
const key = 'a key that only the auditor has'
const store = memoryStore()
const memory = createMemory({ store })
const agent = createAgent({ name: 'desk', model, store, extensions: [memory, auditLog({ key })] })

const ann = { id: 'ann' }
const { sessionId, messages } = await agent.run('I moved to Lisbon.', { principal: ann })
await agent.run('Hello.', { principal: { id: 'bob' } })
console.log(messages.map(textOf).length, (await memory.list({ principal: ann })).length > 0) // → 2 true

const receipt = await erasePrincipal(store, ann, { by: 'dpo@example.com', key, memories: [memory] })
console.log(receipt.sessions.length, (await memory.list({ principal: ann })).length) // → 1 0

// Offline, years later: the receipt and the audit of what was erased still verify.
console.log(verifyReceipt(receipt, { key, principal: 'ann' }).ok) // → true
console.log(verifyAudit(receipt.sessions[0]?.chain ?? '', { key }).ok) // → true

const late = await agent.run('Where do I live?', { sessionId, principal: ann })
console.log(late.status, late.error?.code) // → failed session-erased

// Retention: sessions without a new entry for 90 days. Bob's is younger.
const old = await pruneSessions(store, { olderThanMs: 90 * 86_400_000 })
console.log(old.sessions.length) // → 0
