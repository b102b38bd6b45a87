import { checkChoice, checkOptions } from '@provost/core'
import type { Confidentiality, Effect, KnownKeys, Label, ToolInfo } from '@provost/core'

/** What an agent may receive from other agents, and what it may then do. */
export interface ReceiverCapability {
  /** Effects that its calls may have. Default: `none` and `read`. */
  readonly effects?: readonly Effect[]
  /** Names of the tools that it may call. Default: all tools with a permitted effect. */
  readonly tools?: readonly string[]
  /** The highest confidentiality that it may receive. Default `internal`. */
  readonly confidentiality?: Confidentiality
  /** Whether it may receive untrusted content. Default true. */
  readonly untrusted?: boolean
}

/** Capabilities by the name of the agent. A receiver that is not listed has none. */
export type ReceiverCapabilities = Readonly<Record<string, ReceiverCapability>>

/** The capability of an agent that is not listed. */
const least: ReceiverCapability = { confidentiality: 'public', untrusted: false }
const levels: readonly Confidentiality[] = ['public', 'internal', 'secret']

const capabilityKeys = {
  effects: true,
  tools: true,
  confidentiality: true,
  untrusted: true,
} satisfies KnownKeys<ReceiverCapability>

/** @throws ProvostError `unknown-option` for an unknown key of a capability, `invalid-option` for an invalid value. */
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

/** Returns why a flow exceeds what its receiver may receive; undefined if it does not. */
export function receiverViolation(to: ReceiverCapability | undefined, label: Label): string | undefined {
  if (!to) return 'has no capability'
  const most = to.confidentiality ?? 'internal'
  if (levels.indexOf(label.confidentiality) > levels.indexOf(most))
    return `may not receive ${label.confidentiality} data`
  return to.untrusted === false && label.integrity === 'untrusted' ? 'may not receive untrusted content' : undefined
}

/** Returns why a call exceeds what its caller may do; undefined if it does not. */
export function callerViolation(from: ReceiverCapability | undefined, { name, effect }: ToolInfo): string | undefined {
  const { effects = ['none', 'read'], tools } = from ?? least
  if (tools && !tools.includes(name)) return `may not call ${name}`
  return effects.includes(effect) ? undefined : `may not call tools with the effect ${effect}`
}
