import type {
  AnySchema,
  ArgRole,
  Ask,
  CompositeOps,
  Effect,
  HookContext,
  InboundPolicy,
  Isolation,
  JsonPointer,
  LabelInit,
  MaybePromise,
  ParsedBy,
  StandardSchemaV1,
  Tier,
  ToolContext,
  ToolExample,
  Truncation,
  WrittenFor,
} from '@provost/core'

import type { Rich } from './rich.ts'

/**
 * What the value, promise, generator or stream that `execute` returns comes to: the returned value of a generator,
 * else the joined text if every yield is a string, else the last yield.
 */
export type Executed<R> =
  R extends AsyncGenerator<infer Y, infer Returned, infer _Next>
    ? [Returned] extends [void]
      ? Yielded<Y>
      : Plain<Returned>
    : R extends AsyncIterable<infer Y>
      ? Yielded<Y>
      : R extends PromiseLike<infer V>
        ? Executed<V>
        : Plain<R>
type Yielded<Y> = [Y] extends [string] ? string : Plain<Y>
type Plain<T> = T extends Rich<infer V> ? V : T

/** The type of a tool's result: what its `output` schema gives, else what `execute` comes to. */
export type ResultOf<R, O extends StandardSchemaV1> = StandardSchemaV1 extends O
  ? Executed<R>
  : StandardSchemaV1.InferOutput<O>

/** Argument names that roles may be given to: the keys of the input, or pointers into it. */
type Pointed<T> = unknown extends T ? string : (keyof T & string) | JsonPointer

/** Makes `output` the place of the complaint when `execute` gives something else. */
type Agrees<O extends StandardSchemaV1, R> = unknown extends R
  ? unknown
  : Executed<R> extends StandardSchemaV1.InferInput<O>
    ? unknown
    : { readonly '~error': 'execute returns what `output` does not take' }

/**
 * What {@link tool} takes. `App` is the app value that `execute` wants, `Asking` the one that `needsApproval` wants: one
 * that says nothing of it must not settle it for the other.
 */
export interface ToolOptions<
  S extends AnySchema,
  R,
  App,
  O extends StandardSchemaV1,
  Asking = App,
  C extends boolean = boolean,
  Secret extends string = string,
> {
  /** 1 to 128 visible characters without spaces. Models see those that providers take: letters, digits, `_` and `-`. */
  readonly name: string
  /** For the model: what the tool does and when to use it. */
  readonly description?: string
  /**
   * Of the definition, such as `2`. An approval holds for the version that was asked about: raise it when `execute` does
   * something else with the same input, and open questions are asked again.
   */
  readonly version?: string
  /** For people. */
  readonly title?: string
  /** Any Standard Schema (zod, valibot, arktype, …) or a JSON Schema, of an object. */
  readonly input: S
  /** Validates what `execute` comes to, and what a remote side sends. */
  readonly output?: O & Agrees<O, NoInfer<R>>
  /**
   * It acts only through `ctx.call`, `ctx.wait` and `ctx.memo`, is entered again after a crash and gets what it was
   * answered before. Its result carries the labels of all its answers.
   */
  readonly composite?: C
  /**
   * Returns a value, a promise or an async iterable. Yields are shown while it runs; the result is the returned value,
   * else the joined text if every yield was a string, else the last yield. Absent: a remote tool, the run waits for its
   * result.
   */
  readonly execute?: (
    input: ParsedBy<S>,
    ctx: ToolContext<App, Secret> & (C extends true ? CompositeOps : unknown),
  ) => R
  /** Worked calls, shown to the model. */
  readonly examples?: readonly ToolExample<NoInfer<WrittenFor<S>>>[]
  /** Default `write`. `egress`: an outside party can learn something from the call. */
  readonly effect?: Effect
  /** The label of the result. What is left out is untrusted, internal and from the tool itself. */
  readonly returns?: LabelInit | ((output: NoInfer<ResultOf<R, O>>, input: ParsedBy<S>) => LabelInit)
  /** Fields of the result that no outsider can write, such as row ids and times: they are labelled trusted. */
  readonly trustedFields?: readonly JsonPointer[]
  /** What arguments mean to a policy, by key or JSON pointer. */
  readonly args?: { readonly [K in Pointed<WrittenFor<S>>]?: ArgRole }
  /** Whether a human has to agree first. */
  readonly needsApproval?: boolean | ((input: ParsedBy<S>, ctx: HookContext<Asking>) => MaybePromise<boolean | Ask>)
  /**
   * Milliseconds after which the call has ended for the run, whatever the tool does. Default 60,000. The time of a composite
   * pauses while all its calls wait for an answer from outside. For a remote tool: milliseconds of wall-clock time until its
   * result must arrive, across process restarts. Default: no limit.
   */
  readonly timeoutMs?: number
  /** Running it again with the same `ctx.idempotencyKey` changes nothing. Default false. */
  readonly idempotent?: boolean
  /**
   * Asked instead of a human when a process died in a call and the tool is not safe to repeat. Gives what the call came
   * to; undefined where it took no effect, and it then runs again with the same key. Where it throws, or says nothing
   * within `timeoutMs`, the call is uncertain.
   *
   * @example
   * lookup: async (key) => { const paid = await bank.find(key); return paid && { output: paid.receipt } }
   */
  readonly lookup?: (
    idempotencyKey: string,
    input: ParsedBy<S>,
  ) => MaybePromise<{ readonly output: NoInfer<ResultOf<R, O>> } | undefined>
  /** About how many tokens of a result the model gets. Default 16,384. */
  readonly maxResultTokens?: number
  /**
   * What becomes of a longer result. `head` keeps its beginning, `middle` leaves out its middle; what is cut is gone.
   * `spill` keeps the whole in the session's store: the model gets the beginning and a handle to read the rest by with
   * `read_result`, which the agent then has. A secret result is spilled only to a store that is `private`. Default `head`.
   */
  readonly truncation?: Truncation
  /** Names of the agent's secrets that `execute` gets as `ctx.secrets`, and whose tokens in arguments become values. */
  readonly secrets?: readonly Secret[]
  /** `sequential`: never at the same time as another call of its step. Default `parallel`. */
  readonly executionMode?: 'parallel' | 'sequential'
  /**
   * The tier of the step that reads the result, where the agent's or the run's `model` has tiers. Of several calls in a
   * step the highest counts, and one that says nothing counts as `balanced`.
   */
  readonly preferredModel?: Tier
  /** It has to do with the conversation itself: scripts of code mode cannot call it, only the model. Default false. */
  readonly modelOnly?: boolean
  /** Kept out of the catalogue until the model finds it with `tool_search`: for large collections. Default false. */
  readonly deferLoading?: boolean
  /**
   * Caches results of calls with the same input for `ttlMs` milliseconds (default 300,000), so that they need not run
   * again. For tools of effect `none` and `read` only; errors are not cached. By default a result is cached for the same
   * principal in the same session; `share: 'agent'` is for results that are the same for all users.
   */
  readonly cache?: boolean | { readonly ttlMs?: number; readonly share?: 'session' | 'agent' }
  /**
   * What the runtime has to give for what the tool executes: an agent whose runtime gives less is refused. `process`: files
   * confined to the root, commands with limits. `isolated`: neither files nor network of this machine. The tool's own code
   * runs in this process and is trusted. Default `none`.
   */
  readonly sandbox?: Isolation
  /** What a sanitiser does with untrusted results, if not what it does with those of all tools. `false`: nothing. */
  readonly sanitize?: boolean | InboundPolicy
}
