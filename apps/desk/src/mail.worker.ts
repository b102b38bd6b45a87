import { parentPort } from 'node:worker_threads'

import { reasonOf } from './fault.ts'
import { type Mail, parseMail } from './mail.ts'

/** What the thread replies. */
export type MailReply = { readonly id: number } & (
  | { readonly kind: 'mail'; readonly mail: Mail }
  | { readonly kind: 'failed'; readonly message: string }
)

interface MailTask {
  readonly id: number
  readonly name: string
  readonly raw: Uint8Array
}

function reply(message: MailReply): void {
  parentPort?.postMessage(message)
}

parentPort?.on('message', ({ id, name, raw }: MailTask) => {
  parseMail(name, raw).then(
    (mail) => reply({ id, kind: 'mail', mail }),
    (thrown: unknown) => reply({ id, kind: 'failed', message: reasonOf(thrown) }),
  )
})
