import type { Message } from '@provost/core'
import { argsByRole, textOf } from '@provost/core'

import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'
import type { Address } from './address.ts'
import { addressKey, addressesIn } from './address.ts'
import { skeletonOf } from './confusable.ts'

/** Addresses that a session knows, indexed by how they look. */
export interface KnownAddresses {
  /** Whether the address, or its host, is known exactly. */
  has(address: Address): boolean
  /** A known address or host that looks like this one and is different. */
  like(address: Address): string | undefined
}

interface AddressIndex {
  read: number
  readonly keys: Set<string>
  readonly bySkeleton: Map<string, string>
}

/** Limits: addresses kept per session, addresses read per text, characters read per text. */
const mostKept = 5_000
const mostOfOne = 500
const mostText = 100_000

const indexes = new WeakMap<object, AddressIndex>()
const namesByMessage = new WeakMap<Message, readonly string[]>()

/**
 * Returns the addresses in the user's messages and the instructions, and the destinations of earlier calls of the
 * session. Each message is read once.
 */
export function knownAddresses(
  agent: ResolvedAgent,
  state: SessionState,
  userMessages: readonly Message[],
  instructions: string,
): KnownAddresses {
  const index = calledBefore(agent, state)
  const texts = userMessages.flatMap(namesIn)
  const own = new Set(texts)
  for (const key of keysIn(instructions.slice(0, mostText))) own.add(key)
  const bySkeleton = new Map([...own].map((key) => [skeletonOf(key), key] as const))
  return {
    has: (address) => [addressKey(address), address.host].some((key) => own.has(key) || index.keys.has(key)),
    like(address) {
      for (const key of new Set([addressKey(address), address.host])) {
        if (own.has(key) || index.keys.has(key)) return undefined
        const skeleton = skeletonOf(key)
        const known = bySkeleton.get(skeleton) ?? index.bySkeleton.get(skeleton)
        if (known !== undefined && known !== key) return known
      }
      return undefined
    },
  }
}

function namesIn(message: Message): readonly string[] {
  let known = namesByMessage.get(message)
  if (!known) namesByMessage.set(message, (known = keysIn(textOf(message).slice(0, mostText))))
  return known
}

/** Reads the destinations of finished steps. Denied calls count too, so that a second attempt gets a warning. */
function calledBefore({ info }: ResolvedAgent, { messages, run }: SessionState): AddressIndex {
  let index = indexes.get(messages)
  // Messages are read again after a cut; their addresses are known already.
  if (!index) indexes.set(messages, (index = { read: 0, keys: new Set(), bySkeleton: new Map() }))
  const end = run && run.openCalls > 0 ? messages.length - 1 : messages.length
  for (; index.read < end; index.read++) {
    for (const part of messages[index.read]?.content ?? []) {
      if (part.type !== 'tool-call' || index.keys.size >= mostKept) continue
      const call = { callId: part.callId, tool: info(part.toolName), input: part.input, label: noLabel }
      for (const { value } of argsByRole(call, 'destination').slice(0, mostOfOne)) keep(index, value)
    }
  }
  return index
}

const noLabel = { integrity: 'untrusted', confidentiality: 'internal', sources: [] } as const

function keep({ keys, bySkeleton }: AddressIndex, value: string): void {
  for (const key of keysIn(value.slice(0, mostText))) {
    keys.add(key)
    bySkeleton.set(skeletonOf(key), key)
  }
}

function keysIn(text: string): readonly string[] {
  return addressesIn(text, mostOfOne).flatMap((address) => [addressKey(address), address.host])
}
