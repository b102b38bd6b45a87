import type { Orchestrator, OrchestratorRun, StepOptions } from '@provost/agent'
import type { DefinedEvent, KnownKeys, Message, ModelSpec, ToolInfo, ToolResult } from '@provost/core'
import { lazily, ProvostError, checkOptions, defineEvent, textOf } from '@provost/core'
import { checkModel } from '@provost/provider'
import { z } from 'zod'

/** Options of {@link planAndExecute}. */
export interface PlanAndExecuteOptions {
  /** The model that writes plans. Default: the run's model, or its tier `smart` if it has tiers. */
  readonly planner?: ModelSpec
  /** The most times that a failed plan is replaced. Replans after user input do not count. Default 2. */
  readonly maxReplans?: number
}

/** A plan of `planAndExecute`. */
export interface MadePlan {
  /** Counts the plans from 1. */
  readonly revision: number
  readonly steps: readonly string[]
}

/** A step of a plan as it starts. */
export interface PlanStep {
  readonly revision: number
  /** Counts from 1. */
  readonly index: number
  readonly of: number
  readonly task: string
}

/** A step of a plan as it ends. */
export interface PlanStepEnd extends PlanStep {
  /** `failed`: its tool calls failed, or the model found the plan wrong. `steered`: the user sent input meanwhile. */
  readonly status: 'done' | 'failed' | 'steered'
}

/**
 * The events of {@link planAndExecute}, for `isEventOf`.
 *
 * @example
 * if (isEventOf(event, planEvents.made)) console.log(event.data.steps)
 */
export const planEvents: {
  readonly made: DefinedEvent<MadePlan>
  readonly stepStart: DefinedEvent<PlanStep>
  readonly stepEnd: DefinedEvent<PlanStepEnd>
} = Object.freeze({
  made: defineEvent<MadePlan>('plan.made'),
  stepStart: defineEvent<PlanStep>('plan.step.start'),
  stepEnd: defineEvent<PlanStepEnd>('plan.step.end'),
})

const mostSteps = 30
const longestStep = 2000
const plan = lazily(() =>
  z.object({
    steps: z
      .array(z.string())
      .refine(
        (steps) => steps.length <= mostSteps && steps.every(({ length }) => length > 0 && length <= longestStep),
        `at most ${mostSteps} steps, each of 1 to ${longestStep} characters`,
      ),
  }),
)

/** Bounds the tool catalogue, so that it does not fill the context window of the planner. */
const mostTools = 100
const longestDescription = 200

const optionKeys = { planner: true, maxReplans: true } satisfies KnownKeys<PlanAndExecuteOptions>

/**
 * Returns an orchestrator that plans, executes the steps in order, then answers.
 * After Wang et al., "Plan-and-Solve Prompting" (2023).
 *
 * - The plan is an answer of the planner, as JSON, streamed and labelled as any answer. From untrusted input comes an
 *   untrusted plan. It is validated, kept as the memo `plan/<revision>`, and emitted: see {@link planEvents}.
 * - The agent's own model works on each step with all tools until it reports.
 * - A step fails if its last calls all failed or were denied, or if its report begins with `REPLAN`. The planner then
 *   replans the rest, at most `maxReplans` times. After that the run answers with the results it has.
 * - The planner also replans when the user steers the run.
 * - The final answer must match the agent's `output` schema. Every model call counts for `maxSteps`.
 *
 * @throws ProvostError `invalid-agent` if `maxReplans` is not an integer of at least 0.
 *
 * @example
 * createAgent({ name: 'clerk', model: 'openai/gpt-5-mini', tools, orchestrator: planAndExecute({ planner: 'openai/gpt-5' }) })
 */
export function planAndExecute(options: PlanAndExecuteOptions = {}): Orchestrator {
  checkOptions(options, optionKeys, 'planAndExecute')
  const { planner, maxReplans = 2 } = options
  if (planner !== undefined) checkModel(planner, 'planAndExecute')
  if (!(Number.isInteger(maxReplans) && maxReplans >= 0)) {
    throw new ProvostError('invalid-agent', `planAndExecute() has maxReplans: ${maxReplans}.`, {
      hint: 'Give an integer of at least 0.',
    })
  }

  async function makePlan(run: OrchestratorRun, revision: number): Promise<readonly string[]> {
    const made = await run.object(plan(), {
      tools: [],
      tail: [{ content: `${planning}${catalogue(run.tools)}` }],
      ...(planner !== undefined && { model: planner }),
      tier: 'smart',
    })
    const { steps } = await run.memo(`plan/${revision}`, () => made)
    run.emit(planEvents.made, { revision, steps })
    return steps
  }

  return async (run) => {
    let [revision, failures] = [1, 0]
    let steps = await makePlan(run, revision)
    let { steers } = run
    let index = 0
    while (index < steps.length) {
      const task = steps[index] ?? ''
      const at: PlanStep = { revision, index: index + 1, of: steps.length, task }
      run.emit(planEvents.stepStart, at)
      await run.say(`Step ${at.index} of ${at.of}: ${task}\n\n${working}`)
      const report = await workOn(run, { output: 'text' })
      const status = run.steers > steers ? 'steered' : report.failed ? 'failed' : 'done'
      run.emit(planEvents.stepEnd, { ...at, status })
      index++
      if (status === 'done') continue
      if (status === 'failed' && failures++ >= maxReplans) break
      await run.say(status === 'steered' ? replanning.steered : replanning.failed)
      steps = await makePlan(run, ++revision)
      ;({ steers } = run)
      index = 0
    }
    await run.say(failures > maxReplans ? answering.unfinished : answering.finished)
    await workOn(run, { tools: [] })
  }
}

/** Calls the model and executes its tool calls until it answers without one. */
async function workOn(run: OrchestratorRun, options: StepOptions): Promise<{ readonly failed: boolean }> {
  let results: readonly ToolResult[] = []
  for (;;) {
    const message = await run.model(options)
    if (run.calls.length === 0) return { failed: asksForPlan(message) || allFailed(results) }
    results = await run.execute()
  }
}

function asksForPlan(report: Message): boolean {
  return /^\W{0,8}REPLAN\b/.test(textOf(report).trimStart())
}

function allFailed(results: readonly ToolResult[]): boolean {
  return results.length > 0 && results.every(({ outcome }) => outcome !== 'ok')
}

function catalogue(tools: readonly ToolInfo[]): string {
  // Deferred tools are searched for by the step that needs them.
  const rows = tools
    .filter((tool) => !tool.deferred)
    .slice(0, mostTools)
    .map(({ name, description = '' }) => `- ${name}: ${description.slice(0, longestDescription)}`)
  return rows.length === 0 ? '' : `\n\nThe steps can use these tools:\n${rows.join('\n')}`
}

const planning =
  'Make a plan for what is asked: the fewest steps that get there, each a task that can be done and checked by itself, ' +
  `in order, at most ${mostSteps}. What is done already needs no step; what needs none at all gets an empty list. ` +
  'Do nothing of it yet. Answer with JSON: {"steps": ["…"]}.'
const working =
  'Do this step now, with tools where they help, and no other. Then report in a few sentences what came of it. ' +
  'If it cannot be done, or what you found makes the rest of the plan wrong, begin the report with REPLAN and say why.'
const replanning = {
  failed: 'The plan does not hold. Plan anew what is left to do, with what is known now.',
  steered: 'The user has said something new. Plan anew what is left to do, with that in mind.',
}
const answering = {
  finished: 'The plan is done. Answer what was asked, from what the steps came to.',
  unfinished: 'The plan could not be finished. Answer what was asked with what is known, and say what is missing.',
}
