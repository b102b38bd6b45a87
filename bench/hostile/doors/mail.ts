import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { done, outcomeOf, probeAgent } from '../agents.ts'
import type { Door } from '../input.ts'
import { codeOf } from '../input.ts'

interface DeskMail {
  readonly subject: string
  readonly text: string
  readonly attachments: readonly { readonly name: string; readonly text?: string }[]
}
interface Desk {
  openMailbox(dir: string): Promise<{ read(name: string): Promise<DeskMail> }>
}

/** The desk is an application, which no package imports: it is loaded by its path. */
const desk = new URL('../../../apps/desk/src/mailbox.ts', import.meta.url).href

/** A mail that the desk reads from its folder and an agent reads as a result: the outcome of the run, or `mail`. */
export const mailDoor: Door<string | Uint8Array> = {
  name: 'desk mailbox',
  benign: 'From: Ann <ann@example.com>\r\nSubject: Hello\r\n\r\nWhere is my order?\r\n',
  async pass(raw, { folder, store }) {
    await writeFile(join(folder, 'mail.eml'), raw)
    const { openMailbox } = (await import(desk)) as Desk
    const mailbox = await openMailbox(folder)
    const mail = await mailbox.read('mail.eml').catch(codeOf)
    if (typeof mail === 'string') return mail
    const { subject, text, attachments } = mail
    const found = { subject, text, attachments: attachments.map((one) => ({ name: one.name, text: one.text ?? '' })) }
    const steps = [{ toolCalls: [{ name: 'look', input: {} }] }, done]
    return outcomeOf(probeAgent({ steps, store, found }).stream('Read the mail.'))
  },
}
