import { join } from 'node:path'

import { type Mailbox, openMailbox } from '../src/mailbox.ts'

export const samples: string = join(import.meta.dirname, '../mail')

export function openSamples(): Promise<Mailbox> {
  return openMailbox(samples)
}
