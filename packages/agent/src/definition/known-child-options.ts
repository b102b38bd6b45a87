import type {
  AnySchema,
  ChildPlace,
  CompositeOps,
  FanOut,
  FanOutChild,
  Grant,
  CheckedKeys,
  KnownKeys,
  MergeStrategy,
  MovedKeys,
  OptionTable,
  SpawnOptions,
  ToolQuestion,
  WaitAbout,
} from '@provost/core'
import { ProvostError, checkArguments, checkOptions, isRecord, oneOf } from '@provost/core'
import { checkModel } from '@provost/provider'

import { checkGrant } from '../tree/budget.ts'
import type { AgentToolInput, ToToolOptions } from '../types/agent.ts'
import { isAgent } from './agent-registry.ts'
import type { HandoffOptions } from './handoff.ts'
import { aFunction, countFromOne, listOf, nested, ofKind } from './option-checks.ts'

const lendingKeys = { secrets: oneOf('allowlist', 'explicit', 'isolated'), inheritSecrets: true } as const

const spawnKeys = {
  key: true,
  grant: true,
  ...lendingKeys,
  inputFilter: true,
  exposeTurns: true,
  where: oneOf('here', 'any'),
} satisfies CheckedKeys<SpawnOptions>

const movedSpawn: MovedKeys = {
  filter: 'Name it "inputFilter".',
  budget: 'Name it "grant".',
  perBudget: 'Name it "grant".',
  tokens: 'Write grant: { tokens }.',
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkSpawnOptions(options: SpawnOptions): void {
  checkOptions(options, spawnKeys, 'ctx.spawn', movedSpawn)
  checkLending(options, 'ctx.spawn')
  checkPlace(options.where, options.grant, 'grant', 'ctx.spawn')
}

/** Rejects a child that may run elsewhere without a budget, or with one that a log cannot state. */
function checkPlace(where: ChildPlace | undefined, grant: Grant | undefined, name: string, of: string): void {
  if (where !== 'any') return
  const limits = Object.values(grant ?? {}).filter((limit) => limit !== undefined)
  if (limits.length > 0 && limits.every(Number.isFinite)) return
  throw new ProvostError('invalid-option', `${of} has where: 'any' and no ${name} with finite limits.`, {
    hint: `Write ${name}: { tokens: 20_000 }. A child elsewhere is limited by nothing else.`,
  })
}

/** Rejects contradicting options for the secrets of a child. */
function checkLending(
  { secrets, inheritSecrets }: Pick<SpawnOptions, 'secrets' | 'inheritSecrets'>,
  where: string,
): void {
  if (inheritSecrets !== undefined && !Array.isArray(inheritSecrets)) {
    throw new ProvostError('invalid-option', `The option inheritSecrets of ${where} is not a list of names.`, {
      hint: "Write inheritSecrets: ['NAME'].",
    })
  }
  if (secrets !== 'isolated' || !inheritSecrets || inheritSecrets.length === 0) return
  const names = inheritSecrets.join(', ').slice(0, 200)
  throw new ProvostError('invalid-option', `${where} has secrets: 'isolated' and inheritSecrets: ${names}.`, {
    hint: "Remove inheritSecrets, or give secrets: 'allowlist'.",
  })
}

const toToolKeys = {
  name: true,
  description: true,
  ...lendingKeys,
  inputFilter: true,
  exposeTurns: true,
  timeoutMs: true,
  grant: true,
  where: oneOf('here', 'any'),
  input: true,
  prompt: true,
} satisfies CheckedKeys<ToToolOptions & AgentToolInput<AnySchema>>

const movedToTool: MovedKeys = {
  ...movedSpawn,
  parameters: 'Name it "input".',
  schema: 'Name it "input".',
  inputSchema: 'Name it "input".',
  effect: "Remove it: policies check the agent's own calls.",
  needsApproval: 'Write it in the tools of the agent, or add approvalPolicy() to "extensions".',
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkToTool(options: ToToolOptions & Partial<AgentToolInput<AnySchema>>): void {
  checkArguments('toTool', [options], ['object'])
  checkOptions(options, toToolKeys, 'toTool', movedToTool)
  checkLending(options, 'toTool')
  if (options.grant) checkGrant(options.grant)
  checkPlace(options.where, options.grant, 'grant', 'toTool')
  if ((options.input === undefined) === (options.prompt === undefined)) return
  const half = options.prompt ? 'a prompt without an input' : 'an input without a prompt'
  throw new ProvostError('invalid-option', `toTool has ${half}.`, {
    hint: 'Give both: the schema of the input, and the prompt that the agent receives for it.',
  })
}

const handoffKeys = { mode: true, filter: true, description: true } satisfies KnownKeys<HandoffOptions>

/** @throws ProvostError `unknown-option` */
export function checkHandoff(options: HandoffOptions): void {
  checkOptions(options, handoffKeys, 'handoff', {
    inputFilter: 'Name it "filter".',
    when: 'Name it "description".',
    toolDescriptionOverride: 'Name it "description".',
    onHandoff: "Write an extension with the hook 'handoff'.",
    inputType: 'Remove it: the model writes one message to the target.',
  })
}

const budgetKeys = { tokens: true, toolCalls: true, cost: true, durationMs: true } satisfies KnownKeys<
  NonNullable<FanOut['perBudget']>
>

const childKeys = { agent: true, input: true, key: true } satisfies KnownKeys<
  Extract<FanOutChild, { readonly agent: unknown }>
>
const invokedKeys = { agentId: true, invoke: aFunction } satisfies CheckedKeys<
  Extract<FanOutChild, { readonly agentId: string }>
>
const movedChild: MovedKeys = {
  task: 'Name it "input".',
  prompt: 'Name it "input".',
  id: 'Name it "key".',
  name: 'Name it "key".',
}

const strategyKeys = {
  concat: { kind: true, separator: true },
  'first-success': { kind: true },
  'judge-merge': { kind: true, judge: true, criteria: true },
  custom: { kind: true, merge: aFunction },
} satisfies {
  readonly [K in MergeStrategy<unknown>['kind']]: CheckedKeys<Extract<MergeStrategy<unknown>, { readonly kind: K }>>
}

const checkItems = listOf(
  (child) => (isRecord(child) && ('invoke' in child || 'agentId' in child) ? invokedKeys : childKeys),
  movedChild,
)

function checkChildren(children: unknown, name: string, where: string): void {
  if (Array.isArray(children)) return checkItems(children, name, where)
  throw new ProvostError('invalid-options', `"children" of ${where} is not a list.`, {
    hint: 'Write children: [{ agent, input }].',
  })
}

const fanOutKeys = {
  children: checkChildren,
  mergeStrategy: ofKind(strategyKeys, 'concat', 'first-success'),
  perBudget: nested(budgetKeys, { steps: 'Give "maxSteps" to the agent.' }),
  maxConcurrentChildren: countFromOne,
  where: oneOf('here', 'any'),
} satisfies CheckedKeys<FanOut>

const movedFanOut: MovedKeys = {
  agents: 'Name it "children": [{ agent, input }].',
  tasks: 'Name it "children": [{ agent, input }].',
  merge: 'Name it "mergeStrategy".',
  strategy: 'Name it "mergeStrategy".',
  budget: 'Name it "perBudget".',
  concurrency: 'Name it "maxConcurrentChildren".',
  maxConcurrency: 'Name it "maxConcurrentChildren".',
  store: 'Remove it: children use the store of the agent.',
}

/**
 * Rejects unknown and invalid options of a fan-out.
 *
 * @param more the options that `where` takes besides.
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-options`, `invalid-model`
 */
export function checkFanOut<T>(options: FanOut<T>, where: string, more: OptionTable = {}): void {
  checkArguments(where, [options], ['object'])
  checkOptions(options, { ...fanOutKeys, ...more }, where, movedFanOut)
  const { mergeStrategy, where: place, children, perBudget } = options
  checkPlace(place, perBudget, 'perBudget', where)
  if (place === 'any' && children.some((child) => 'invoke' in child)) {
    throw new ProvostError('invalid-options', `${where} has where: 'any' and a child that is a function.`, {
      hint: 'Give agents as children: a function stays in its process.',
    })
  }
  if (typeof mergeStrategy === 'object' && mergeStrategy.kind === 'judge-merge') checkJudge(mergeStrategy.judge, where)
}

/** @throws ProvostError `invalid-model` for a judge that is neither an agent nor a model. */
export function checkJudge(judge: unknown, where: string): void {
  if (!isAgent(judge)) checkModel(judge, `the judge of ${where}`)
}

const callKeys = { key: true, flow: true } satisfies KnownKeys<Parameters<CompositeOps['call']>[2]>

/** @throws ProvostError `unknown-option` */
export function checkCallOptions(options: unknown): void {
  checkOptions(options, callKeys, 'ctx.call')
}

const waitKeys = { message: true, schema: true, withinMs: true, approves: true } satisfies KnownKeys<WaitAbout>
const questionKeys = { message: true, schema: true } satisfies KnownKeys<ToolQuestion>

/** @throws ProvostError `unknown-option` */
export function checkWait(about: WaitAbout): void {
  checkOptions(about, waitKeys, 'ctx.wait', { timeoutMs: 'Name it "withinMs".', expiresInMs: 'Name it "withinMs".' })
}

/** @throws ProvostError `unknown-option` */
export function checkQuestion(question: ToolQuestion): void {
  checkOptions(question, questionKeys, 'ctx.ask', {
    withinMs: 'The timeout of the call applies: give "timeoutMs" to tool().',
    timeoutMs: 'The timeout of the call applies: give it to tool().',
  })
}
