// A tool that says of itself what a policy wants to know: its effect, what its arguments mean, how far its result is to be trusted.
// The model's first call does not fit the schema, so it is told why and mends it; the second one needs a human.
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const pay = tool({
  name: 'pay_invoice',
  title: 'Pay an invoice',
  description: 'Pays an invoice by bank transfer.',
  effect: 'egress',
  input: z.object({
    iban: z.string().regex(/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/, 'an IBAN has capitals and no spaces'),
    euros: z.number().positive(),
    reference: z.string().max(140).default('invoice'),
  }),
  output: z.object({ transferId: z.string(), note: z.string() }),
  args: { iban: 'destination', euros: 'amount', reference: 'content' },
  // The note may contain text from any sender. The bank generates the id.
  returns: { confidentiality: 'secret', readers: ['finance'], sources: ['bank'] },
  trustedFields: ['/transferId'],
  needsApproval: ({ euros }) => euros > 100 && { reason: `${euros} euros leave the house`, expiresInMs: 3_600_000 },
  timeoutMs: 10_000,
  executionMode: 'sequential',
  execute: ({ iban, reference }) => ({ transferId: 'T-1', note: `${reference} to ${iban}` }),
})

const call = (iban: string) => ({ toolCalls: [{ name: 'pay_invoice', input: { iban, euros: 240 } }] })
const model =
  process.env.PROVOST_MODEL ?? scriptedModel([call('de02 1203'), call('DE02120300000000202051'), { text: 'Paid.' }])

const clerk = createAgent({ name: 'clerk', model, tools: [pay] })
const stream = clerk.stream('Pay 240 euros to DE02 1203 0000 0000 2020 51.', {
  onApproval: ({ agent, reason }) => {
    console.log(`${agent} asks: ${reason}`)
    return { decision: 'approve', by: 'ann' }
  },
})
for await (const event of stream) {
  if (event.type === 'tool.execute.error') console.log(event.error.message)
  if (event.type === 'tool.approval.resolved') console.log(event.decision, 'by', event.by)
  if (event.type === 'tool.execute.end') console.log(JSON.stringify(event.output))
}
// → The input of pay_invoice does not fit its schema: iban: an IBAN has capitals and no spaces.
// → Call pay_invoice again with the corrected input as one JSON object. Its fields: iban: string, euros: number, reference?: string.
// → clerk asks: 240 euros leave the house
// → approve by ann
// → {"type":"json","value":{"transferId":"T-1","note":"invoice to DE02120300000000202051"}}

// What the model says afterwards may be read by no more people than what it has read.
const { text, messages } = await stream.result
console.log(text, messages.at(-1)?.label?.confidentiality, messages.at(-1)?.label?.readers)
// → Paid. secret [ 'finance' ]
