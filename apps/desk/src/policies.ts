import { money } from './order.ts'
import { rules } from './rules.ts'

/** A rule of the shop. */
export interface Rule {
  readonly title: string
  readonly text: string
}

const wall: readonly Rule[] = [
  {
    title: 'Sending back',
    text: `What is sent back is refunded within ${rules.returnDays} days of delivery. The customer pays for the parcel.`,
  },
  { title: 'Faulty goods', text: `What is faulty is refunded within ${rules.warrantyDays} days of delivery.` },
  { title: 'Not delivered', text: 'What was never shipped, or came back to us, is refunded at once.' },
  {
    title: 'Late parcels',
    text: `When a parcel is more than ${rules.lateDays} days late, a colleague asks the carrier.`,
  },
  { title: 'Large refunds', text: `A refund of more than ${money(rules.refundLimit)} needs a colleague's consent.` },
]

/** Rules that share words with a question, best match first. */
export function findRules(question: string): readonly Rule[] {
  const asked = wordsOf(question)
  return wall
    .map((rule) => ({
      rule,
      shared: [...wordsOf(`${rule.title} ${rule.text}`)].filter((word) => asked.has(word)).length,
    }))
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .map(({ rule }) => rule)
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/\p{L}{4,40}/gu))
}
