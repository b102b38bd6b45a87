import type { Facts, KnownMail } from './facts.ts'
import { answeringStep, readingStep, say, type Step } from './plan.ts'
import { readingOf, type Wish } from './reading.ts'

type Colleague = 'billing' | 'retention' | 'shipping'

/** The next step of triage: read, then hand over, or answer a mail that fits no colleague. */
export function triageStep(facts: Facts): Step {
  const { mail } = facts
  if (mail === undefined) return readingStep(facts) ?? say('There is no mail.')
  if (isEmpty(mail)) return answeringStep(mail, { kind: 'ask', what: 'content' }, facts)
  const to = colleagueFor(mail, readingOf(mail).wish)
  if (!to)
    return answeringStep(mail, { kind: 'escalate', why: 'the question is not about a refund or a parcel' }, facts)
  const message = why[to]
  return {
    reasoning: `${message} I hand it over to ${to}.`,
    calls: [{ name: `transfer_to_${to}`, input: { message } }],
  }
}

const why: Readonly<Record<Colleague, string>> = {
  billing: 'The mail is about money.',
  retention: 'The sender wants to cancel, or to send something back.',
  shipping: 'The sender asks where a parcel is.',
}

const leaving = /\b(return|send (it|them) back|cancel|stornier)/i

function colleagueFor({ subject, text }: KnownMail, wish: Wish): Colleague | undefined {
  if (wish.damaged) return 'billing'
  if (wish.money) return leaving.test(`${subject}\n${text}`) ? 'retention' : 'billing'
  return wish.status ? 'shipping' : undefined
}

function isEmpty({ text, attachments }: KnownMail): boolean {
  return text.trim() === '' && attachments.length === 0
}
