import type {
  AnySchema,
  CompositeOps,
  FanOut,
  FanOutChild,
  KnownKeys,
  MergeStrategy,
  MovedKeys,
  SpawnOptions,
  ToolQuestion,
  WaitAbout,
} from '@provost/core'
import { ProvostError, checkChoice, checkOptions, isRecord } from '@provost/core'
import { checkModel } from '@provost/provider'

import type {
  Evaluator,
  EvaluatorOptimizerOptions,
  FanOutOptions,
  ToToolOptions,
  AgentToolInput,
} from '../types/agent.ts'
import { isAgent } from './agent-registry.ts'
import type { HandoffOptions } from './handoff.ts'
import { checkDecisions } from './known-options.ts'

const spawnKeys = {
  key: true,
  grant: true,
  secrets: true,
  inheritSecrets: true,
  inputFilter: true,
  exposeTurns: true,
} satisfies KnownKeys<SpawnOptions>

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
}

/**
 * Rejects contradicting options for the secrets of a child.
 *
 * @throws ProvostError `invalid-option`
 */
export function checkLending(
  { secrets, inheritSecrets }: Pick<SpawnOptions, 'secrets' | 'inheritSecrets'>,
  where: string,
): void {
  checkChoice(secrets, ['allowlist', 'explicit', 'isolated'], 'secrets', where)
  if (inheritSecrets !== undefined && !Array.isArray(inheritSecrets)) {
    throw new ProvostError('invalid-option', `The option inheritSecrets of ${where} is not a list of names.`, {
      hint: "Write inheritSecrets: ['NAME'].",
    })
  }
  if (secrets !== 'isolated' || !inheritSecrets || inheritSecrets.length === 0) return
  throw new ProvostError(
    'invalid-option',
    `${where} has secrets: 'isolated' and inheritSecrets: ${inheritSecrets.join(', ').slice(0, 200)}.`,
    {
      hint: "Remove inheritSecrets, or give secrets: 'allowlist'.",
    },
  )
}

const toToolKeys = {
  name: true,
  description: true,
  secrets: true,
  inheritSecrets: true,
  inputFilter: true,
  exposeTurns: true,
  timeoutMs: true,
  input: true,
  prompt: true,
} satisfies KnownKeys<ToToolOptions & AgentToolInput<AnySchema>>

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
  checkOptions(options, toToolKeys, 'toTool', movedToTool)
  checkLending(options, 'toTool')
  if ((options.input === undefined) === (options.prompt === undefined)) return
  throw new ProvostError(
    'invalid-option',
    `toTool has ${options.prompt ? 'a prompt without an input' : 'an input without a prompt'}.`,
    {
      hint: 'Give both: the schema of the input, and the prompt that the agent receives for it.',
    },
  )
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

const fanOutKeys = {
  children: true,
  mergeStrategy: true,
  perBudget: true,
  maxConcurrentChildren: true,
} satisfies KnownKeys<FanOut>

const loneKeys = {
  ...fanOutKeys,
  session: true,
  extensions: true,
  signal: true,
  onApproval: true,
  decisions: true,
  principal: true,
  context: true,
} satisfies KnownKeys<FanOutOptions>

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

const budgetKeys = {
  tokens: true,
  toolCalls: true,
  cost: true,
  durationMs: true,
} satisfies KnownKeys<NonNullable<FanOut['perBudget']>>

const agentChildKeys = { agent: true, input: true, key: true } satisfies KnownKeys<
  Extract<FanOutChild, { readonly agent: unknown }>
>
const invokedKeys = { agentId: true, invoke: true } satisfies KnownKeys<
  Extract<FanOutChild, { readonly agentId: string }>
>

const strategyKeys = {
  concat: { kind: true, separator: true },
  'first-success': { kind: true },
  'judge-merge': { kind: true, judge: true, criteria: true },
  custom: { kind: true, merge: true },
} satisfies {
  readonly [K in MergeStrategy<unknown>['kind']]: KnownKeys<Extract<MergeStrategy<unknown>, { readonly kind: K }>>
}

/**
 * Rejects unknown and invalid options of a fan-out.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`, `invalid-options`, `invalid-model`
 */
export function checkFanOut<T>(options: FanOut<T>, where: 'ctx.fanOut' | 'agent.fanOut' | 'runFanOut'): void {
  const known =
    where === 'ctx.fanOut' ? fanOutKeys : where === 'agent.fanOut' ? loneKeys : { ...loneKeys, store: true as const }
  checkOptions(options, known, where, movedFanOut)
  const { children, mergeStrategy, perBudget } = options
  if (!Array.isArray(children)) {
    throw new ProvostError('invalid-options', `"children" of ${where} is not a list.`, {
      hint: 'Write children: [{ agent, input }].',
    })
  }
  for (const [index, child] of options.children.entries()) {
    const invoked = isRecord(child) && ('invoke' in child || 'agentId' in child)
    checkOptions(child, invoked ? invokedKeys : agentChildKeys, `children[${index}] of ${where}`, {
      task: 'Name it "input".',
      prompt: 'Name it "input".',
      id: 'Name it "key".',
      name: 'Name it "key".',
    })
  }
  checkOptions(perBudget, budgetKeys, `"perBudget" of ${where}`, { steps: 'Give "maxSteps" to the agent.' })
  if (typeof mergeStrategy === 'string')
    return checkChoice(mergeStrategy, ['concat', 'first-success'], 'mergeStrategy', where)
  checkChoice(mergeStrategy?.kind ?? null, Object.keys(strategyKeys), 'kind', `"mergeStrategy" of ${where}`)
  checkOptions(mergeStrategy, strategyKeys[mergeStrategy.kind], `"mergeStrategy" of ${where}`)
  if (mergeStrategy.kind === 'judge-merge') checkJudge(mergeStrategy.judge, where)
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkLone({ decisions }: Pick<FanOutOptions, 'decisions'>, where: string): void {
  if (decisions !== undefined) checkDecisions(decisions, `"decisions" of ${where}`)
}

function checkJudge(judge: unknown, where: string): void {
  if (!isAgent(judge)) checkModel(judge, `the judge of ${where}`)
}

const evaluatingKeys = {
  generator: true,
  input: true,
  evaluator: true,
  maxIterations: true,
  within: true,
  session: true,
  store: true,
  extensions: true,
  signal: true,
  onApproval: true,
  decisions: true,
  principal: true,
  context: true,
} satisfies KnownKeys<EvaluatorOptimizerOptions<unknown>>

const evaluatorKeys = {
  'free-form': { kind: true, evaluate: true },
  schema: { kind: true, schema: true },
  'llm-judge': { kind: true, judge: true, criteria: true, threshold: true },
} satisfies {
  readonly [K in Evaluator<unknown>['kind']]: KnownKeys<Extract<Evaluator<unknown>, { readonly kind: K }>>
}

/** @throws ProvostError `unknown-option`, `invalid-option`, `invalid-model` */
export function checkEvaluating<Out>(options: EvaluatorOptimizerOptions<Out>): void {
  const where = 'evaluatorOptimizer'
  checkOptions(options, evaluatingKeys, where, {
    optimizer: 'Name it "generator".',
    agent: 'Name it "generator".',
    judge: "Write evaluator: { kind: 'llm-judge', judge, criteria }.",
    maxRounds: 'Name it "maxIterations".',
    maxSteps: 'Name it "maxIterations".',
  })
  const { evaluator } = options
  checkChoice(evaluator?.kind ?? null, Object.keys(evaluatorKeys), 'kind', `"evaluator" of ${where}`)
  checkOptions(evaluator, evaluatorKeys[evaluator.kind], `"evaluator" of ${where}`)
  if (evaluator.kind === 'llm-judge') {
    checkJudge(evaluator.judge, where)
    const { threshold } = evaluator
    if (threshold !== undefined && !(typeof threshold === 'number' && threshold >= 0 && threshold <= 1)) {
      throw new ProvostError('invalid-option', `The option threshold of ${where} is ${String(threshold)}.`, {
        hint: 'Give a score from 0 to 1.',
      })
    }
  }
  checkLone(options, where)
}

const callKeys = { key: true } satisfies KnownKeys<Parameters<CompositeOps['call']>[2]>

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
