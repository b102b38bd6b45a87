import type { Extension, KnownKeys, SessionStore } from '@provost/core'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'
import { auditLog, dataFlowPolicy } from '@provost/governance'
import type { AuditLogOptions, ContractOptions, DataFlowPolicyOptions } from '@provost/governance'
import { jsonlStore, memoryStore } from '@provost/sessions'

import type { GuardedTools } from './guarded-tools.ts'

/** Options that a guard hands to `dataFlowPolicy`. */
type PolicyOptions = Pick<
  DataFlowPolicyOptions,
  'mode' | 'rules' | 'onViolation' | 'declassifySinks' | 'guardTrifecta' | 'readers' | 'intent'
>

/** Options of a guard. */
export interface GuardOptions extends PolicyOptions {
  /**
   * What the definitions of the tools lack: effect, roles of arguments, labels of results. A tool without an entry has the
   * effect `egress`, and its results are untrusted.
   */
  readonly tools?: GuardedTools
  /**
   * Where the log of each conversation is written: a folder of JSON lines, or a store. Default: the memory of this process,
   * for the conversations used last.
   */
  readonly audit?: string | SessionStore | ({ readonly store: string | SessionStore } & AuditLogOptions)
  /** Contracts between the human's turn and the calls. `false` turns them off. Default: as in `dataFlowPolicy`. */
  readonly contract?: boolean | Pick<ContractOptions, 'confirm'>
  /** The instructions of the agent, whose values count as trusted: the other loop does not show them. Default: none. */
  readonly instructions?: string
  /** The name of the agent in the log. Default `guarded`. */
  readonly name?: string
  /**
   * Who keeps the histories that later turns begin with. `client`: they come back over the network, so answers and results
   * that the guard did not see arise are untrusted. `own`: your program keeps them. Default `client`.
   */
  readonly history?: 'client' | 'own'
  /** Receives errors of the guard itself, such as those of the store. Such a call is denied in the mode `enforce`. */
  readonly onError?: (error: unknown) => void
}

const optionKeys = {
  mode: true,
  rules: true,
  onViolation: true,
  declassifySinks: true,
  guardTrifecta: true,
  readers: true,
  intent: true,
  tools: true,
  audit: true,
  contract: true,
  instructions: true,
  name: true,
  history: true,
  onError: true,
} satisfies KnownKeys<GuardOptions>

/** A guard's options with everything that is made once. */
export interface GuardPlan {
  readonly name: string
  readonly instructions: string
  readonly mode: 'shadow' | 'enforce'
  readonly history: 'client' | 'own'
  readonly tools: GuardedTools
  readonly policy: Extension<unknown>
  readonly chain: Extension<unknown>
  readonly store: SessionStore
  /** The guard made the store, so it closes it. */
  readonly ownsStore: boolean
  /** Nothing but the guard can read the store. */
  readonly forgets: boolean
  readonly onError: (error: unknown) => void
}

/** Checks options. */
export function planGuard(options: GuardOptions, caller: string): GuardPlan {
  checkOptions(options, optionKeys, caller)
  const { audit, contract, instructions = '', name = 'guarded', history = 'client', ...others } = options
  const { tools = {}, onError = () => {}, ...policy } = others
  checkChoice(history, ['client', 'own'], 'history', caller)
  if (typeof name !== 'string' || name === '') throw invalidOption(caller, 'name', 'Give a text.')
  if (typeof onError !== 'function') throw invalidOption(caller, 'onError', 'Give a function.')
  if (typeof contract === 'object' && 'planner' in contract)
    throw invalidOption(caller, 'contract', 'A guard calls no model, so the words of the turn derive the contract.')
  const given = typeof audit === 'object' && !isStore(audit) ? audit : { store: audit }
  const { store: place, ...chain } = given
  return {
    name,
    instructions,
    mode: options.mode,
    history,
    tools,
    onError,
    policy: dataFlowPolicy({ ...policy, ...(contract !== undefined && { contracts: contract }) }),
    chain: auditLog(chain),
    store: typeof place === 'string' ? jsonlStore(place) : (place ?? memoryStore()),
    ownsStore: place === undefined || typeof place === 'string',
    forgets: place === undefined,
  }
}

function isStore(value: object): value is SessionStore {
  return 'append' in value && 'lease' in value
}

function invalidOption(caller: string, option: string, hint: string): ProvostError {
  return new ProvostError('invalid-option', `The option "${option}" of ${caller} is invalid.`, { hint })
}
