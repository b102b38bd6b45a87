import { checkChoice, checkOptions } from '@provost/core'
import type { Confidentiality, Effect, KnownKeys, Label, ToolInfo } from '@provost/core'

/** What an agent may be told, and what it may do with that. */
export interface ReceiverCapability {
  /** What its calls may do. Default: look, and nothing else. */
  readonly effects?: readonly Effect[]
  /** Names of the tools that it may call. Default: all whose effect it may have. */
  readonly tools?: readonly string[]
  /** The most confidential that it may be told. Default `internal`. */
  readonly confidentiality?: Confidentiality
  /** Whether it may be told what outsiders wrote. Default true. */
  readonly untrusted?: boolean
}

/** By the name of the agent. One that is not in it and is told something was given nothing. */
export type ReceiverCapabilities = Readonly<Record<string, ReceiverCapability>>

/** Of those who are not listed. */
const least: ReceiverCapability = { confidentiality: 'public', untrusted: false }
const levels: readonly Confidentiality[] = ['public', 'internal', 'secret']

const capabilityKeys = {
  effects: true,
  tools: true,
  confidentiality: true,
  untrusted: true,
} satisfies KnownKeys<ReceiverCapability>

/** @throws ProvostError `unknown-option`, `invalid-option` for a capability that says something else than it seems. */
export function checkCapabilities(all: ReceiverCapabilities = {}): void {
  for (const [agent, capability] of Object.entries(all)) {
    const where = `capabilities of ${agent} in causalityMonitor`
    checkOptions(capability, capabilityKeys, where)
    for (const effect of capability.effects ?? []) {
      checkChoice(effect, ['none', 'read', 'write', 'egress'], 'effects', where)
    }
    checkChoice(capability.confidentiality, levels, 'confidentiality', where)
    checkChoice(capability.untrusted, [true, false], 'untrusted', where)
  }
}

export function capabilityOf(all: ReceiverCapabilities, agent: string): ReceiverCapability | undefined {
  return Object.hasOwn(all, agent) ? all[agent] : undefined
}

/** What of a flow is beyond what its receiver may be told; undefined where nothing is. */
export function beyondHearing(to: ReceiverCapability | undefined, label: Label): string | undefined {
  if (!to) return 'was given no capability'
  const most = to.confidentiality ?? 'internal'
  if (levels.indexOf(label.confidentiality) > levels.indexOf(most))
    return `may not be told what is ${label.confidentiality}`
  return to.untrusted === false && label.integrity === 'untrusted' ? 'may not be told what outsiders wrote' : undefined
}

/** What of a call is beyond what its caller may do; undefined where nothing is. */
export function beyondReach(from: ReceiverCapability | undefined, { name, effect }: ToolInfo): string | undefined {
  const { effects = ['none', 'read'], tools } = from ?? least
  if (tools && !tools.includes(name)) return `was given no ${name}`
  return effects.includes(effect) ? undefined : `was not given the effect ${effect}`
}
