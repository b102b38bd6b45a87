import { type Agent, type Extension, type Message, type ModelSpec, type SessionStore, textOf } from 'provost'
import { codeMode } from 'provost/code-mode'
import { type Memory } from 'provost/memory'

import type { Bank } from './bank.ts'
import { rememberDeeds } from './deeds.ts'
import type { Desk } from './desk.ts'
import { deskPolicy } from './policy.ts'
import { createBilling } from './team/billing.ts'
import { createWriteLetter } from './team/letter.ts'
import { createAskPolicy } from './team/researcher.ts'
import { createRetention } from './team/retention.ts'
import { createShipping } from './team/shipping.ts'
import { createTriage } from './team/triage.ts'
import { createRefund } from './tools.ts'

/** Milliseconds after which another process may take over the session of a desk that died. */
export const leaseMs = 2_000

/** Options of {@link createDeskTeam}. */
export interface TeamOptions {
  readonly model: ModelSpec
  readonly store: SessionStore
  /** Memory of the customers. */
  readonly memory: Memory
  /** `shadow`: no call is stopped; the view shows what would have been. Default `enforce`. */
  readonly policy?: 'enforce' | 'shadow'
  /** The bank that pays refunds. Default: refunds are only recorded in the books. */
  readonly bank?: Bank | undefined
  readonly tracing?: readonly Extension<unknown>[]
  /** `scripted`: the model writes scripts that call the tools. Default `direct`. */
  readonly toolCalls?: 'direct' | 'scripted'
}

/**
 * Creates the team of the desk and returns the agent that receives every mail first. Agents are immutable: the same
 * agents handle all mails, each mail in its own run.
 */
export function createDeskTeam({
  model,
  store,
  memory,
  policy = 'enforce',
  bank,
  tracing = [],
  toolCalls = 'direct',
}: TeamOptions): Agent<string, Desk> {
  /** Each agent has a code mode of its own. */
  const own = (): readonly Extension<unknown>[] => [
    memory,
    rememberDeeds(memory),
    ...(toolCalls === 'scripted' ? [codeMode()] : []),
  ]
  const writeLetter = createWriteLetter(model)
  const refund = createRefund(bank)
  const askPolicy = createAskPolicy(model)
  const member = () => ({ model, extensions: own(), writeLetter, askPolicy })
  return createTriage({
    model,
    writeLetter,
    // The policy also governs the agents that triage hands over to, and their child agents.
    extensions: [...tracing, deskPolicy(policy), ...own()],
    store,
    leaseMs,
    colleagues: [
      createBilling({ ...member(), refund }),
      createRetention({ ...member(), refund }),
      createShipping(member()),
    ],
  })
}

/** Returns the task of a run. The name is quoted as JSON, so that an odd file name remains a name. */
export function taskFor(mail: string): string {
  return `Handle the mail ${JSON.stringify(mail)}.`
}

/** Returns the mail that a task names. */
export function mailOf(task: Message): string | undefined {
  const [, name] = /^Handle the mail (".*")\.$/s.exec(textOf(task)) ?? []
  return name === undefined ? undefined : String(JSON.parse(name))
}
