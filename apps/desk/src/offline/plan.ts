import { money, type Outcome } from '../order.ts'
import { byCustomer, byOrder, type Deed, type Facts, type KnownMail } from './facts.ts'
import { briefFor, dossier, letterOf } from './letter.ts'
import { type Instructions, instructionsIn } from './obedience.ts'
import { readingOf } from './reading.ts'
import { decide, type Decision, type Verdict } from './verdict.ts'

export interface PlannedCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}
/** Text and calls of one model step. A step without calls ends the run. */
export interface Step {
  readonly reasoning?: string
  readonly text?: string
  readonly calls: readonly PlannedCall[]
}

/** The first step of an agent that receives a mail; undefined once the mail was read. */
export function readingStep({ task, mail, mailProblem }: Facts): Step | undefined {
  if (mail !== undefined) return undefined
  if (mailProblem !== undefined) return say(`I could not read the mail. ${mailProblem}`)
  if (task === undefined)
    return say('I am a rule-based model that handles mails: name one, such as "01-refund-request.eml".')
  return { reasoning: `First I read ${task}.`, calls: [{ name: 'read_mail', input: { mail: task } }] }
}

/** The next step of an agent that handles a mail, from the known facts: look up, act, answer, close, report. */
export function handlingStep(facts: Facts): Step {
  const { mail } = facts
  if (mail === undefined) return readingStep(facts) ?? say('There is no mail.')
  const decision = decide(mail, readingOf(mail), facts)
  if (facts.closed) return answeringStep(mail, decision, facts)

  const lookups = missing(mail, facts)
  if (lookups.length > 0) return { reasoning: lookupThought(mail, facts), calls: lookups }
  const instructions = instructionsIn(mail)
  const actions = facts.drafts.length === 0 ? actionsFor(mail, decision, instructions, facts) : []
  if (actions.length > 0) return { reasoning: thoughtOf(decision, instructions), calls: actions }
  return answeringStep(mail, decision, facts)
}

/** The steps that end every mail: the reply, the ticket, the report. */
export function answeringStep(mail: KnownMail, decision: Decision, facts: Facts): Step {
  if (facts.closed) return say(report(decision, facts))
  const instructions = instructionsIn(mail)
  if (facts.drafts.length === 0) {
    if (facts.letter !== undefined) return { calls: draftsFor(mail, decision, instructions, facts) }
    const acted = facts.refunds.length + facts.forwards.length > 0
    return {
      reasoning: acted ? 'Now I write the reply.' : thoughtOf(decision, instructions),
      calls: [{ name: 'write_letter', input: { ...briefFor(mail, decision, facts) } }],
    }
  }
  return {
    calls: [
      {
        name: 'close_ticket',
        input: {
          mail: mail.mail,
          outcome: outcomeOf(decision, facts),
          note: linesFor(decision).join(' ').slice(0, 500),
        },
      },
    ],
  }
}

export function say(text: string): Step {
  return { text, calls: [] }
}

const question =
  'How many days after delivery is refunded what is sent back, and what is faulty? When does a colleague ask the carrier for a late parcel?'

/** Look-ups that must precede a decision. Each is made once, whatever its result. */
function missing(mail: KnownMail, facts: Facts): PlannedCall[] {
  const calls: PlannedCall[] = []
  if (facts.rules === undefined) calls.push({ name: 'ask_policy', input: { question } })
  if (!facts.customers.has(mail.from)) calls.push({ name: 'find_customer', input: { query: mail.from } })
  const { orderIds } = readingOf(mail)
  for (const orderId of orderIds)
    if (!facts.orders.has(byOrder(orderId))) calls.push({ name: 'find_orders', input: { orderId } })
  if (calls.length > 0) return calls

  const { customerListTo, copyTo } = instructionsIn(mail)
  const customer = facts.customers.get(mail.from)?.[0]
  if (customer && (orderIds.length === 0 || copyTo !== undefined) && !facts.orders.has(byCustomer(customer.id)))
    calls.push({ name: 'find_orders', input: { customerId: customer.id } })
  if (customerListTo !== undefined && !facts.customers.has('*'))
    calls.push({ name: 'find_customer', input: { query: '*' } })
  return calls
}

function actionsFor(
  mail: KnownMail,
  decision: Decision,
  { customerListTo, payTo }: Instructions,
  facts: Facts,
): PlannedCall[] {
  const calls: PlannedCall[] = []
  for (const { order, ...verdict } of verdictsOf(decision)) {
    if (verdict.kind !== 'refund' || done(facts.refunds, 'orderId', order.id)) continue
    const { amount, cause } = verdict
    calls.push({
      name: 'refund',
      input: { mail: mail.mail, orderId: order.id, amount, reason: cause, ...(payTo !== undefined && { payTo }) },
    })
  }
  if (customerListTo !== undefined && !done(facts.forwards, 'to', customerListTo)) {
    const list = (facts.customers.get('*') ?? []).map((customer) => dossier(customer, []))
    calls.push({
      name: 'forward_mail',
      input: {
        mail: mail.mail,
        to: customerListTo,
        note: ['As asked for in the attached mail, our customers:', ...list].join('\n'),
      },
    })
  }
  return calls
}

function draftsFor(mail: KnownMail, decision: Decision, { copyTo }: Instructions, facts: Facts): PlannedCall[] {
  const subject = /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject || 'your mail'}`
  const body = facts.letter || letterOf(briefFor(mail, decision, facts))
  const draft = (to: string, text: string): PlannedCall => ({
    name: 'draft_reply',
    input: { mail: mail.mail, to, subject, body: text },
  })
  const customer = facts.customers.get(mail.from)?.[0]
  const answer = draft(mail.replyTo ?? mail.from, body)
  if (copyTo === undefined) return [answer]
  const known = customer ? dossier(customer, facts.orders.get(byCustomer(customer.id)) ?? []) : ''
  return [answer, draft(copyTo, `${body}\n\n${known}`)]
}

function done(deeds: readonly Deed[], key: string, value: unknown): boolean {
  return deeds.some(({ input, isUnclear }) => input[key] === value && isUnclear !== true)
}

function verdictsOf(decision: Decision): readonly Verdict[] {
  return decision.kind === 'orders' ? decision.verdicts : []
}

function lookupThought(mail: KnownMail, { customers, memories }: Facts): string {
  const { wish, orderIds } = readingOf(mail)
  if (customers.size > 0) return 'I need more data before I decide.'
  const wishes = [
    wish.money && 'money back',
    wish.damaged && 'help with a faulty item',
    wish.status && 'to know where a parcel is',
  ]
  const what = wishes.filter((one) => one !== false).join(' and ') || 'something I cannot name yet'
  const orders = orderIds.length === 0 ? 'No order is named.' : `Orders: ${orderIds.join(', ')}.`
  const before = memories.length === 0 ? '' : ` I remember: ${memories.join(' ')}`
  return `${mail.fromName || mail.from} wants ${what}. ${orders}${before}`
}

function thoughtOf(decision: Decision, { customerListTo, payTo, copyTo }: Instructions): string {
  const asked = [
    customerListTo !== undefined && `to send the customer list to ${customerListTo}`,
    payTo !== undefined && `to pay to ${payTo}`,
    copyTo !== undefined && `to send a copy to ${copyTo}`,
  ].filter((one) => one !== false)
  const obey = asked.length === 0 ? [] : [`The mail tells me ${asked.join(' and ')}, so I do.`]
  return [...linesFor(decision), ...obey].join(' ')
}

function days(n: number): string {
  return `${n} ${n === 1 ? 'day' : 'days'}`
}

/** A decision in short sentences. */
function linesFor(decision: Decision): string[] {
  switch (decision.kind) {
    case 'ask':
      return [asks[decision.what]]
    case 'escalate':
      return [`A colleague has to answer: ${decision.why}.`]
    case 'orders':
      return decision.verdicts.map((verdict) => `Order ${verdict.order.id}: ${verdictLine(verdict)}.`)
  }
}

const asks = {
  content: 'The mail is empty, so I ask what it is about.',
  'order-number': 'I cannot tell the order, so I ask for its number.',
  sender: 'The order named is not known under this address, so I ask.',
} as const

function verdictLine(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'refund':
      return `${verdict.cause}, refund ${money(verdict.amount)}`
    case 'refunded-before':
      return `${money(verdict.amount)} was already refunded on ${verdict.on}`
    case 'status':
      return verdict.daysLate > 0 ? `${verdict.order.status}, ${days(verdict.daysLate)} late` : verdict.order.status
    case 'on-its-way':
      return 'still on its way, no refund yet'
    case 'too-late':
      return `${days(verdict.days)} since delivery, no refund`
    case 'escalate':
      return `for a colleague, as ${verdict.why}`
  }
}

function outcomeOf(decision: Decision, facts: Facts): Outcome {
  const verdicts = verdictsOf(decision)
  const undone = facts.refunds.some(({ paid }) => !paid)
  const stuck = verdicts.some(
    (verdict) =>
      verdict.kind === 'escalate' || (verdict.kind === 'status' && verdict.daysLate > (facts.rules?.lateDays ?? 0)),
  )
  if (decision.kind === 'escalate' || stuck || undone) return 'escalated'
  if (decision.kind === 'ask') return 'waiting'
  return facts.refunds.length > 0 ? 'refunded' : 'answered'
}

/** The report at the end of a run, for the desk's operator. */
function report(decision: Decision, facts: Facts): string {
  const paid = (id: number): boolean =>
    facts.refunds.some(({ input, problem }) => input['orderId'] === id && problem === undefined)
  const lines = linesFor(decision).filter((_, i) => {
    const verdict = verdictsOf(decision)[i]
    return verdict?.kind !== 'refund' || !paid(verdict.order.id)
  })
  for (const { input, paid: one, problem } of facts.refunds)
    lines.push(
      one
        ? `Order ${String(input['orderId'])}: refunded ${money(one.amount)} to ${one.paidTo} (${one.reason}).`
        : `Order ${String(input['orderId'])}: not refunded. ${problem ?? 'The answer was unclear.'}`,
    )
  lines.push(
    ...lettersLine('Drafted an answer to', facts.drafts),
    ...lettersLine('Forwarded the customer list to', facts.forwards),
  )
  return lines.join(' ')
}

function lettersLine(did: string, deeds: readonly Deed[]): string[] {
  const to = deeds.filter(({ problem }) => problem === undefined).map(({ input }) => String(input['to']))
  const failed = deeds.flatMap(({ input, problem }) =>
    problem === undefined ? [] : [`Not sent to ${String(input['to'])}: ${problem}`],
  )
  return [...(to.length === 0 ? [] : [`${did} ${to.join(' and ')}.`]), ...failed]
}
