import type { KnownKeys, MovedKeys } from '@provost/core'
import { ProvostError, checkChoice, checkLabel, checkOptions, isRecord } from '@provost/core'

import type { MemoryInit } from '../items/item.ts'
import type { RankWeights } from '../items/rank.ts'
import type { MemoryBlock } from './memory-block.ts'
import type {
  Forgettable,
  ListOptions,
  Memory,
  MemoryOptions,
  RecallOptions,
  ReminderOptions,
} from './memory-options.ts'

const optionKeys = {
  store: true,
  embedder: true,
  reranker: true,
  weights: true,
  clock: true,
  maxChars: true,
  onFault: true,
  name: true,
  scopes: true,
  blocks: true,
  reminders: true,
  episodes: true,
  tools: true,
} satisfies KnownKeys<MemoryOptions>

const movedOptions: MovedKeys = {
  path: "Write store: sqliteMemory('memory.db').",
  url: 'Write store: postgresMemory(url).',
  embeddings: 'Name it "embedder".',
  scope: 'Name it "scopes".',
  limit: 'Write reminders: { limit }.',
}

const weightKeys = { previous: true, next: true, session: true, similarity: true } satisfies KnownKeys<RankWeights>
const reminderKeys = { limit: true, maxChars: true, kinds: true, query: true } satisfies KnownKeys<ReminderOptions>
const blockKeys = { name: true, about: true, maxChars: true, scope: true } satisfies KnownKeys<MemoryBlock>

/** @throws ProvostError `unknown-option`, `invalid-options` */
export function checkMemoryOptions(options: MemoryOptions): void {
  checkOptions(options, optionKeys, 'createMemory', movedOptions)
  if (typeof options?.store !== 'object' || options.store === null) {
    throw new ProvostError('invalid-options', 'createMemory has no store.', {
      hint: "Write createMemory({ store: sqliteMemory('memory.db') }), or give a session store.",
    })
  }
  const { weights, reminders, blocks = [] } = options
  checkOptions(weights, weightKeys, '"weights" of createMemory')
  if (reminders !== false) checkOptions(reminders, reminderKeys, '"reminders" of createMemory')
  for (const block of blocks) {
    checkOptions(block, blockKeys, 'a block of createMemory')
    checkChoice(block.scope, ['session', 'user', 'agent', 'shared'], 'scope', `the block ${block.name}`)
  }
}

const initKeys = {
  source: true,
  label: true,
  scope: true,
  principal: true,
  kind: true,
  key: true,
  validFrom: true,
  validTo: true,
  id: true,
  at: true,
  sessionId: true,
  speaker: true,
} satisfies KnownKeys<MemoryInit>

/** @throws ProvostError `unknown-option`, `invalid-label` */
export function checkInit(init: Partial<MemoryInit> | undefined, where: string): void {
  checkOptions(init, initKeys, where)
  checkLabel(init?.label, `"label" of ${where}`)
}

const reachKeys = { principal: true, sessionId: true, agent: true, scopes: true } as const

const recallKeys = {
  ...reachKeys,
  limit: true,
  kinds: true,
  at: true,
  quarantined: true,
} satisfies KnownKeys<RecallOptions>

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkRecallOptions(options: RecallOptions): void {
  checkOptions(options, recallKeys, 'memory.recall')
  checkChoice(options.quarantined, ['exclude', 'include'], 'quarantined', 'memory.recall')
}

const listKeys = {
  ...reachKeys,
  kinds: true,
  states: true,
  key: true,
  after: true,
  limit: true,
} satisfies KnownKeys<ListOptions>

/** @throws ProvostError `unknown-option` */
export function checkListOptions(options: ListOptions): void {
  checkOptions(options, listKeys, 'memory.list')
}

const decisionKeys = { by: true, label: true } satisfies KnownKeys<Parameters<Memory['confirm']>[1]>

/** @throws ProvostError `unknown-option`, `invalid-label` */
export function checkConfirmation(decision: Parameters<Memory['confirm']>[1]): void {
  checkOptions(decision, decisionKeys, 'memory.confirm')
  checkLabel(decision.label, '"label" of memory.confirm')
}

/** @throws ProvostError `unknown-option`, `invalid-scope` for a target without an item or a scope. */
export function checkTarget(what: Forgettable): void {
  if (typeof what === 'string') return
  checkOptions(what, { scope: true, principal: true, sessionId: true }, 'memory.forget')
  const { scope, principal, sessionId }: Readonly<Record<string, unknown>> = isRecord(what) ? what : {}
  if (isRecord(scope) || isRecord(principal) || typeof sessionId === 'string') return
  throw new ProvostError('invalid-scope', 'memory.forget names no item, scope or session.', {
    hint: "Give an id, { principal }, { sessionId } or { scope: { kind: 'user', id } }.",
  })
}
