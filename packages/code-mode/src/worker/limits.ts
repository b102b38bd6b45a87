import { checkOptions, type KnownKeys, type MovedKeys, ProvostError } from '@provost/core'

/** Limits of one script run. An omitted limit has its default. */
export interface SandboxLimits {
  /** Time the script itself computes, in ms; waiting for calls is not counted. Default 5,000. */
  readonly cpuMs?: number
  /**
   * Time from start to end, in ms. The clock stops while everything that the script waits for is parked. Default
   * 60,000.
   */
  readonly wallMs?: number
  /** Polls of the interrupt handler, one per some thousand operations: the same from run to run. Default: no limit. */
  readonly fuel?: number
  /** Memory of the script, in bytes. Its engine has 2.2 MiB more; both together are a hard limit. Default 64 MiB. */
  readonly memoryBytes?: number
  /** Stack of the engine, in bytes, at most 512 KiB. Default 256 KiB. */
  readonly stackBytes?: number
  /** Calls of tools in one run. Default 256. */
  readonly toolCalls?: number
  /** Calls that run at the same time; others are queued. Default 16. */
  readonly parallelCalls?: number
  /** Arguments of one call, in bytes of JSON. Default 1 MiB. */
  readonly argBytes?: number
  /** Result of one call, in bytes of JSON. Default 4 MiB. */
  readonly replyBytes?: number
  /** What the script returns, in bytes of JSON. Default 256 KiB. */
  readonly outputBytes?: number
  /** Message of an error, in characters. Default 2,048. */
  readonly errorBytes?: number
}

export type Limits = Required<SandboxLimits>

const defaults: Limits = {
  cpuMs: 5000,
  wallMs: 60_000,
  fuel: Infinity,
  memoryBytes: 64 << 20,
  stackBytes: 256 << 10,
  toolCalls: 256,
  parallelCalls: 16,
  argBytes: 1 << 20,
  replyBytes: 4 << 20,
  outputBytes: 256 << 10,
  errorBytes: 2048,
}

const limitKeys = {
  cpuMs: true,
  wallMs: true,
  fuel: true,
  memoryBytes: true,
  stackBytes: true,
  toolCalls: true,
  parallelCalls: true,
  argBytes: true,
  replyBytes: true,
  outputBytes: true,
  errorBytes: true,
} satisfies KnownKeys<SandboxLimits>

const movedLimits: MovedKeys = {
  timeoutMs: 'Name it "wallMs".',
  timeout: 'Name it "wallMs"; it is in milliseconds.',
  memory: 'Name it "memoryBytes".',
  memoryLimit: 'Name it "memoryBytes".',
}

/** Longest script that is accepted, in characters. */
export const maxSourceLength: number = 256 << 10

const largest: Partial<Limits> = { stackBytes: 512 << 10, memoryBytes: 1 << 30, wallMs: 2 ** 31 - 1 }

/**
 * Applies the defaults. Throws `invalid-options` for a value that is not a positive number, or exceeds the engine's
 * maximum.
 */
export function limitsOf(given: SandboxLimits = {}): Limits {
  checkOptions(given, limitKeys, 'the limits of a script', movedLimits)
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  const limits: Limits = { ...defaults, ...Object.fromEntries(named) }
  for (const [name, value] of Object.entries(limits)) {
    const most = Object.entries(largest).find(([of]) => of === name)?.[1] ?? Infinity
    if (typeof value === 'number' && value > 0 && value <= most) continue
    throw new ProvostError('invalid-options', `The limit "${name}" of a script is ${String(value)}.`, {
      hint: `Use a number above 0${most === Infinity ? '' : ` and up to ${most}`}.`,
    })
  }
  return limits
}

/** How much more a script computes and holds while its values are followed. */
const followedCost = { cpu: 15, memory: 4 }

/** The limits of a script whose values are followed. They allow the same work. */
export function followedLimits(limits: Limits): Limits {
  return {
    ...limits,
    cpuMs: limits.cpuMs * followedCost.cpu,
    fuel: limits.fuel * followedCost.cpu,
    memoryBytes: Math.min(limits.memoryBytes * followedCost.memory, largest.memoryBytes ?? limits.memoryBytes),
    stackBytes: largest.stackBytes ?? limits.stackBytes,
  }
}
