// Another process of the effect tests: node effect-child.ts SITE [{ sessionId, at, one }, …] die|stop
import { crashAt, pauseAt } from '@provost/testing'
import type { CrashPoint } from '@provost/testing'

import { openStore, settleCase } from './effect-site.ts'
import type { EffectCase, EffectSite } from './effect-site.ts'

/** A case, and the moment at which its process dies or stops. */
export interface EffectTask {
  readonly sessionId: string
  readonly at: CrashPoint
  readonly one: EffectCase
}

/** Asks the human whether the payment of a session took place, or tells that a session has reached its moment. */
export interface EffectMessage {
  readonly kind: 'asks' | 'reached'
  readonly sessionId: string
}

/** The answer to a message that asks. */
export interface EffectAnswer {
  readonly sessionId: string
  readonly took: boolean
}

const [place = '', list = '[]', fate] = process.argv.slice(2)
const site: EffectSite = JSON.parse(place)
const tasks: readonly EffectTask[] = JSON.parse(list)
const store = openStore(site)
let moving = tasks.length
const questions = new Map<string, (took: boolean) => void>()
const continued = Promise.withResolvers<void>()

// The test has ended before this process.
process.on('disconnect', () => process.exit(1))
process.on('message', ({ sessionId, took }: EffectAnswer) => questions.get(sessionId)?.(took))

/** The process dies or stops once each of its sessions is at its moment, or is over. */
function arrived(): Promise<void> {
  if (--moving === 0) {
    process.kill(process.pid, fate === 'stop' ? 'SIGSTOP' : 'SIGKILL')
    continued.resolve()
  }
  return continued.promise
}

function tell(kind: EffectMessage['kind'], sessionId: string): Promise<void> {
  const message: EffectMessage = { kind, sessionId }
  return new Promise((resolve) => {
    process.send?.(message, undefined, {}, () => resolve())
  })
}

async function work({ sessionId, at, one }: EffectTask): Promise<void> {
  const human = (): Promise<boolean> =>
    new Promise((resolve) => {
      questions.set(sessionId, resolve)
      void tell('asks', sessionId)
    })
  const reached = (): Promise<void> => tell('reached', sessionId).then(arrived)
  const crash = fate === 'stop' ? pauseAt(at, reached) : crashAt(at, () => void reached())
  await settleCase(one, sessionId, store, human, { crash })
  if (fate !== 'stop') void arrived()
}

await Promise.all(tasks.map(work))
if (fate === 'stop') process.exit()
