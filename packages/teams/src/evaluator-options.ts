import { aFunction, checkJudge, countFromOne, must, ofKind } from '@provost/agent/internal'
import type {
  CheckedKeys,
  CompositeContext,
  Input,
  MaybePromise,
  ModelSpec,
  SessionStore,
  Spawnable,
  StandardSchemaV1,
} from '@provost/core'
import { checkArguments, checkOptions, isStandardSchema } from '@provost/core'

import type { TeamOptions } from './team-options.ts'
import { teamKeys } from './team-options.ts'

/** Decides whether an output is accepted. */
export type Evaluator<Out> =
  /** Your own function, called once per output. */
  | {
      readonly kind: 'free-form'
      readonly evaluate: (output: Out, iteration: number) => MaybePromise<EvaluatorVerdict>
    }
  /** The output, or the JSON in its text, must satisfy a Standard Schema. */
  | { readonly kind: 'schema'; readonly schema: StandardSchemaV1 }
  /** An agent or a model scores the output from 0 to 1. It is accepted from the threshold on. Default 0.8. */
  | {
      readonly kind: 'llm-judge'
      /** Your own agent must answer with JSON: `{ score, feedback }`. */
      readonly judge: Spawnable | ModelSpec
      readonly criteria: string
      readonly threshold?: number
    }

/** The verdict of an evaluator on an output. */
export interface EvaluatorVerdict {
  readonly accepted: boolean
  /** What to improve. */
  readonly feedback: string
  /** Higher is better. Without scores, a later output counts as better than an earlier one. */
  readonly score?: number
}

/** How an output is improved. */
export interface EvaluatorOptimizerOptions<Out> extends TeamOptions {
  readonly generator: Spawnable<Out>
  readonly input: Input
  readonly evaluator: Evaluator<NoInfer<Out>>
  /** Maximum number of attempts. Default 3. */
  readonly maxIterations?: number
  /**
   * The composite that runs this, once per call. Attempts become children of its run: durable, governed and counted
   * with it. The session and the run of the other options are then the composite's.
   */
  readonly within?: CompositeContext | undefined
  /** Default: a store in memory. */
  readonly store?: SessionStore | undefined
}

const where = 'evaluatorOptimizer'

const evaluatorKeys = {
  'free-form': { kind: true, evaluate: aFunction },
  schema: { kind: true, schema: must(isStandardSchema, 'Give a Standard Schema, such as one of zod.') },
  'llm-judge': {
    kind: true,
    judge: (value) => checkJudge(value, where),
    criteria: must((value) => typeof value === 'string', 'Say in a text what counts.'),
    threshold: must(isShare, 'Give a score from 0 to 1.'),
  },
} satisfies {
  readonly [K in Evaluator<unknown>['kind']]: CheckedKeys<Extract<Evaluator<unknown>, { readonly kind: K }>>
}

const optionKeys = {
  generator: true,
  input: true,
  evaluator: ofKind(evaluatorKeys),
  maxIterations: countFromOne,
  within: true,
  ...teamKeys,
  store: true,
} satisfies CheckedKeys<EvaluatorOptimizerOptions<unknown>>

/** @throws ProvostError `invalid-argument`, `unknown-option`, `invalid-option`, `invalid-model` */
export function checkEvaluating<Out>(options: EvaluatorOptimizerOptions<Out>): void {
  checkArguments(where, [options], ['object'])
  checkOptions(options, optionKeys, where, {
    optimizer: 'Name it "generator".',
    agent: 'Name it "generator".',
    judge: "Write evaluator: { kind: 'llm-judge', judge, criteria }.",
    maxRounds: 'Name it "maxIterations".',
    maxSteps: 'Name it "maxIterations".',
  })
}

function isShare(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && value >= 0 && value <= 1)
}
