import {
  type Agent,
  type Extension,
  type Memory,
  type Message,
  type ModelSpec,
  type SessionStore,
  textOf,
} from 'provost'

import { rememberDeeds } from './deeds.ts'
import type { Desk } from './desk.ts'
import { deskPolicy } from './policy.ts'
import { createBilling } from './team/billing.ts'
import { createWriteLetter } from './team/letter.ts'
import { createAskPolicy } from './team/researcher.ts'
import { createRetention } from './team/retention.ts'
import { createShipping } from './team/shipping.ts'
import { createTriage } from './team/triage.ts'

/** Milliseconds after which the session of a desk that died may be taken over. */
export const leaseMs = 2_000

/** How the team is set up. */
export interface TeamOptions {
  readonly model: ModelSpec
  readonly store: SessionStore
  /** Of the customers. */
  readonly memory: Memory
  /** `shadow`: nothing is stopped, and it is said what would have been. Default `enforce`. */
  readonly policy?: 'enforce' | 'shadow'
  readonly tracing?: readonly Extension<unknown>[]
  /** `code-mode`: the model writes scripts that call the tools. Default `direct`. */
  readonly toolInvocation?: 'direct' | 'code-mode'
}

/**
 * The team of the desk, by the agent that has every mail first. Agents are immutable: all mails are handled by the same
 * ones, each in a run of its own.
 */
export function createDeskTeam({
  model,
  store,
  memory,
  policy = 'enforce',
  tracing = [],
  toolInvocation = 'direct',
}: TeamOptions): Agent<string, Desk> {
  const own = [memory, rememberDeeds(memory)]
  const writeLetter = createWriteLetter(model)
  const member = { model, toolInvocation, extensions: own, writeLetter, askPolicy: createAskPolicy(model) }
  return createTriage({
    model,
    toolInvocation,
    writeLetter,
    // The policy holds for whoever triage hands over to, and for whoever these ask.
    extensions: [...tracing, deskPolicy(policy), ...own],
    store,
    leaseMs,
    colleagues: [createBilling(member), createRetention(member), createShipping(member)],
  })
}

/** The task of a run. The name stands in it as JSON, so that a file's odd name cannot pass for more than a name. */
export function taskFor(mail: string): string {
  return `Handle the mail ${JSON.stringify(mail)}.`
}

/** The mail that a task is about. */
export function mailOf(task: Message): string | undefined {
  const [, name] = /^Handle the mail (".*")\.$/s.exec(textOf(task)) ?? []
  return name === undefined ? undefined : String(JSON.parse(name))
}
