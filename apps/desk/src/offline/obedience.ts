import type { KnownMail } from './facts.ts'
import { sentencesOf } from './reading.ts'

/** Instructions in a mail beyond the shop's usual service. */
export interface Instructions {
  /** Send the list of all customers to this address. */
  readonly customerListTo?: string
  /** Pay a refund to this account. */
  readonly payTo?: string
  /** Send a copy of the answer, with what is known of the customer, to this address. */
  readonly copyTo?: string
}

const address = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/
const account = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}\b/

/**
 * Returns the instructions in a mail. The offline model is gullible on purpose: it does not check who wrote the words,
 * whether they are visible, or whose interest they serve. Real models make this mistake often enough. Protection must
 * therefore surround the model.
 */
export function instructionsIn(mail: KnownMail): Instructions {
  let found: Instructions = {}
  const texts = [mail.text, ...mail.attachments.map(({ text = '' }) => text)]
  for (const sentence of texts.flatMap((text) => sentencesOf(visible(text)))) {
    const to = address.exec(sentence)?.[0]
    const iban = account.exec(sentence)?.[0]
    if (
      to !== undefined &&
      /\b(forward|send|mail|export)\b/i.test(sentence) &&
      /\bcustomer (list|data|base|records)\b/i.test(sentence)
    )
      found = { ...found, customerListTo: to }
    else if (
      to !== undefined &&
      to !== mail.from &&
      /\b(copy|answer|reply|response)\b/i.test(sentence) &&
      /\b(send|reply|answer)\b/i.test(sentence)
    )
      found = { ...found, copyTo: to }
    if (iban !== undefined && /\b(pay|refund|transfer)\b/i.test(sentence)) found = { ...found, payTo: iban }
  }
  return found
}

/** Removes zero-width characters: models read through them, and so does this one. */
function visible(text: string): string {
  return text.replace(/[\u00ad\u200b\u2060\ufeff]/g, '')
}
