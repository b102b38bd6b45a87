import { Worker } from 'node:worker_threads'

import { DeskError } from './fault.ts'
import type { Mail } from './mail.ts'
import type { MailReply } from './mail.worker.ts'

/** Time limit for parsing one mail, in ms. */
const mostMs = 10_000

interface Waiting {
  resolve(mail: Mail): void
  reject(error: DeskError): void
  readonly timer: NodeJS.Timeout
}

let thread: { readonly worker: Worker; readonly waiting: Map<number, Waiting> } | undefined
let count = 0

/**
 * Reads one mail in a separate thread: a mail that is built to be slow fails alone.
 *
 * @throws DeskError of kind `mail`, as `parseMail`, and when parsing exceeds 10 s or the memory limit.
 */
export function readMail(name: string, raw: Uint8Array): Promise<Mail> {
  const { worker, waiting } = (thread ??= startThread())
  const id = count++
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Other mails in the thread fail too; each can be read again.
      endThread(worker, 'reading takes longer than 10 s')
    }, mostMs)
    waiting.set(id, { resolve, reject, timer })
    worker.ref()
    worker.postMessage({ id, name, raw })
  })
}

function startThread(): NonNullable<typeof thread> {
  const worker = new Worker(new URL('mail.worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  const waiting = new Map<number, Waiting>()
  worker.on('message', ({ id, ...reply }: MailReply) => {
    const one = waiting.get(id)
    waiting.delete(id)
    // An idle thread does not keep the process alive.
    if (waiting.size === 0) worker.unref()
    clearTimeout(one?.timer)
    if (reply.kind === 'mail') one?.resolve(reply.mail)
    else one?.reject(new DeskError('mail', reply.message))
  })
  worker.on('error', ({ message }) => endThread(worker, message))
  worker.unref()
  return { worker, waiting }
}

function endThread(worker: Worker, reason: string): void {
  if (thread?.worker !== worker) return
  const { waiting } = thread
  thread = undefined
  void worker.terminate()
  for (const { timer, reject } of waiting.values()) {
    clearTimeout(timer)
    reject(new DeskError('mail', `Not a readable mail: ${reason}.`))
  }
}
