import type { KnownMail } from './facts.ts'

/** The sender's wishes, as far as words tell. */
export interface Wish {
  /** Money back, a return, a cancellation. */
  readonly money: boolean
  /** Something is broken or wrong. */
  readonly damaged: boolean
  /** Wants to know the location of a parcel. */
  readonly status: boolean
}
/** What a mail says about its orders. */
export interface Reading {
  /** In the order of their mention, at most eight. */
  readonly orderIds: readonly number[]
  readonly wish: Wish
  /** What the mail says about one order, where it is stated separately. */
  about(orderId: number): { readonly wish: Wish; readonly complaint: string }
}

const moneyWords =
  /\b(refund|reimburs|money back|return|send (it|them) back|cancel|charged|erstatt|r[uü]ckerstatt|geld zur[uü]ck|stornier|rembours)/i
const damageWords =
  /\b(broken|cracks?|cracked|damaged?|defect|defekt|faulty|shattered|in pieces|torn|leaks|flicker|scratched|missing|wrong|kaputt|does not (work|grind)|stopped|cassé)/i
const statusWords =
  /\b(where (is|are)|when (will|does|do|is)|when\b.{0,60}\b(arrives?|come|get here|delivered)|not (yet )?arrived|hasn.t arrived|still waiting|tracking|track my|not here yet|delivery date|wo ist|wann kommt)/i

/** Four to six isolated digits: not part of a date, an amount, a telephone or an account number. */
const orderNumber = /(?<![\d.,/-]|\d )\d{4,6}(?![\d/-]|[.,]\d| \d)/g

/** Reads a mail for order numbers and wishes. Quotes of older mails count for numbers only. */
export function readingOf(mail: KnownMail): Reading {
  const { fresh, quoted } = withoutQuotes(mail.text)
  const lines = mail.attachments.flatMap(({ text = '' }) => text.split('\n'))
  const sentences = [...sentencesOf(fresh), ...lines]
  const said = [mail.subject, ...sentences]
  const orderIds = [...new Set([...said, quoted].flatMap(numbersIn))].slice(0, 8)
  const wish = wishOf(said)
  const bySentence = new Map<number, string[]>()
  let current: readonly number[] = []
  for (const sentence of sentences) {
    const named = numbersIn(sentence)
    if (named.length > 0) current = named
    for (const id of current) bySentence.set(id, [...(bySentence.get(id) ?? []), sentence])
  }
  return {
    orderIds,
    wish,
    about(orderId) {
      const own = bySentence.get(orderId) ?? []
      const ownWish = wishOf(own)
      const apart = orderIds.length > 1 && (ownWish.money || ownWish.status)
      return {
        wish: apart ? ownWish : { ...wish, damaged: orderIds.length > 1 ? ownWish.damaged : wish.damaged },
        complaint: (own.length > 0 ? own : said)
          .filter((text) => moneyWords.test(text) || damageWords.test(text))
          .join(' '),
      }
    },
  }
}

function wishOf(sentences: readonly string[]): Wish {
  const one = sentences.join('\n')
  return { money: moneyWords.test(one), damaged: damageWords.test(one), status: statusWords.test(one) }
}

function numbersIn(text: string): number[] {
  return [...text.matchAll(orderNumber)]
    .filter(
      ({ 0: digits, index }) =>
        !isYear(digits) || /(order|bestellung|#)\s*$/i.test(text.slice(Math.max(0, index - 12), index)),
    )
    .map(([digits]) => Number(digits))
}

function isYear(digits: string): boolean {
  return digits.length === 4 && digits >= '1990' && digits <= '2039'
}

/** Splits off the text below "… wrote:" or after ">". */
function withoutQuotes(text: string): { readonly fresh: string; readonly quoted: string } {
  const fresh: string[] = []
  const quoted: string[] = []
  let below = false
  for (const line of text.split('\n')) {
    below ||= /^(on .{4,120} wrote:|am .{4,120} schrieb .{0,80}:|-{3,} ?original message ?-{3,})$/i.test(line.trim())
    ;(below || line.startsWith('>') ? quoted : fresh).push(line)
  }
  return { fresh: fresh.join('\n'), quoted: quoted.join('\n') }
}

/** Sentences of a text; a single line break does not end one. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n{2,}/)
    .flatMap((paragraph) => paragraph.replaceAll('\n', ' ').split(/(?<=[.!?;])\s+/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

/** The items that a complaint names; empty when it concerns all or names none. */
export function itemsMeant<T extends { readonly name: string }>(items: readonly T[], complaint: string): readonly T[] {
  const said = new Set(wordsOf(complaint))
  const meant = items.filter((item) => {
    const others = new Set(items.filter((other) => other !== item).flatMap(({ name }) => wordsOf(name)))
    return wordsOf(item.name).some((word) => said.has(word) && !others.has(word))
  })
  return meant.length === items.length ? [] : meant
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/\p{L}{3,40}/gu) ?? []).map((word) => word.replace(/(?<=\p{L}{3})s$/u, ''))
}
