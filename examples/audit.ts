// An audit links every call, decision, approval and result. An export verifies, and a changed one is named.
import { createAgent, memoryStore, tool, z } from 'provost'
import { auditLog, deleteFromAudit, verifyAudit } from 'provost/governance'
import { exportSession } from 'provost/sessions'
import { scriptedModel } from 'provost/testing'

const pay = tool({
  name: 'pay',
  effect: 'write',
  input: z.object({ to: z.string(), amount: z.number() }),
  needsApproval: ({ amount }) => amount > 50,
  execute: ({ to, amount }) => `paid ${amount} to ${to}`,
})
const calling = (to: string, amount: number) => ({ toolCalls: [{ name: 'pay', input: { to, amount } }] })
const model = process.env.PROVOST_MODEL ?? scriptedModel([calling('ann', 20), calling('bob', 80), { text: 'Paid.' }])

const key = 'a key that only the auditor has'
const store = memoryStore()
// The head of the chain is stored elsewhere: it shows later whether the end was removed.
let kept = ''
const audit = auditLog({ key, onHead: (head) => (kept = head) })
const desk = createAgent({ name: 'desk', model, tools: [pay], extensions: [audit], store })
const { sessionId } = await desk.run('Pay ann 20 and bob 80.', {
  // The approver lowers the amount.
  onApproval: () => ({ decision: 'approve', by: 'carol', args: { to: 'bob', amount: 75 } }),
})

let exported = ''
for await (const line of exportSession(store, sessionId)) exported += line
const report = verifyAudit(exported, { key, head: kept })
console.log('the audit verifies:', report.ok)
for (const { toolName, decisions, approvers, outcome } of report.calls)
  console.log(toolName, decisions.join(', '), outcome, ...approvers)
// → the audit verifies: true
// → pay proceed ok
// → pay ask, proceed ok carol

const codes = (text: string) =>
  [...new Set(verifyAudit(text, { key, head: kept }).problems.map(({ code }) => code))].join(', ')
const lines = exported.trimEnd().split('\n')
console.log('another approver:', codes(exported.replaceAll('"by":"carol"', '"by":"mallory"')))
console.log('another amount:', codes(exported.replaceAll('"amount":75', '"amount":7500')))
console.log('no approval:', codes(lines.filter((line) => !line.includes('"type":"resolved"')).join('\n')))
const isPayment = (line: string): boolean => line.includes('"type":"call"') && line.includes('/1/call/0')
console.log('no payment to ann:', codes(lines.filter((line) => !isPayment(line)).join('\n')))
// → another approver: entry-changed
// → another amount: entry-changed, approval-for-other-arguments, decision-for-other-arguments, ran-with-other-arguments
// → no approval: entry-removed, ran-without-consent
// → no payment to ann: entry-removed, sinks-miscounted

const settled = lines.find((line) => line.includes('paid 20 to ann')) ?? '{}'
const { entry } = JSON.parse(settled) as { entry: { id: string } }
const erased = deleteFromAudit(exported, { entries: [entry.id], by: 'dpo', key })
console.log('erased lawfully:', verifyAudit(erased, { key }).ok, erased.includes('paid 20'))
// → erased lawfully: true false
