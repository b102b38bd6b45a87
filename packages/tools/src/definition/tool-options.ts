import type {
  AnySchema,
  ArgRole,
  Ask,
  CompensationContext,
  CompositeOps,
  Effect,
  EffectScope,
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
 * The type of the result of `execute`, from a value, promise, generator or stream: the return value of a generator,
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

/** The type of the result of a tool: that of its `output` schema, else that of `execute`. */
export type ResultOf<R, O extends StandardSchemaV1> = StandardSchemaV1 extends O
  ? Executed<R>
  : StandardSchemaV1.InferOutput<O>

/** Names of arguments that can have roles: the keys of the input, or pointers into it. */
type Pointed<T> = unknown extends T ? string : (keyof T & string) | JsonPointer

/** Makes the compiler report a wrong result of `execute` at `output`. */
type Agrees<O extends StandardSchemaV1, R> = unknown extends R
  ? unknown
  : Executed<R> extends StandardSchemaV1.InferInput<O>
    ? unknown
    : { readonly '~error': 'execute returns what `output` does not take' }

/**
 * Options of {@link tool}. `App` is the app value that `execute` requires, `Asking` the one that `needsApproval`
 * requires. They are separate so that a function without a requirement does not determine the type of the other.
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
  /** 1 to 128 visible characters without spaces. Models see a name of letters, digits, `_` and `-`. */
  readonly name: string
  /** For the model: what the tool does and when to use it. */
  readonly description?: string
  /**
   * The version of the definition, such as `2`. Raise it when `execute` changes its effect for the same input. An
   * approval applies to its version, so open requests are asked again.
   */
  readonly version?: string
  /** For people. */
  readonly title?: string
  /** Any Standard Schema (zod, valibot, arktype, …) or a JSON Schema, of an object. */
  readonly input: S
  /** Validates the result of `execute` or of the remote side. */
  readonly output?: O & Agrees<O, NoInfer<R>>
  /**
   * It acts only through `ctx.call`, `ctx.wait` and `ctx.memo`, is entered again after a crash and gets what it was
   * answered before. Its result carries the labels of all its answers.
   */
  readonly composite?: C
  /**
   * Returns a value, a promise or an async iterable. Yields are streamed while the tool runs. The result is the return
   * value, else the joined text if every yield is a string, else the last yield. Absent: a remote tool, whose result
   * the run waits for.
   */
  readonly execute?: (
    input: ParsedBy<S>,
    ctx: ToolContext<App, Secret> & (C extends true ? CompositeOps : unknown),
  ) => R
  /** Worked calls, shown to the model. */
  readonly examples?: readonly ToolExample<NoInfer<WrittenFor<S>>>[]
  /** Default `write`. `egress`: an outside party can receive data from the call. */
  readonly effect?: Effect
  /** The label of the result. Missing fields default to untrusted, internal, and the tool as the source. */
  readonly returns?: LabelInit | ((output: NoInfer<ResultOf<R, O>>, input: ParsedBy<S>) => LabelInit)
  /** Fields of the result that no outsider can write, such as row ids and times. They are labelled trusted. */
  readonly trustedFields?: readonly JsonPointer[]
  /** The meaning of arguments for policies, by key or JSON pointer. */
  readonly args?: { readonly [K in Pointed<WrittenFor<S>>]?: ArgRole }
  /** Whether a human has to approve the call. */
  readonly needsApproval?: boolean | ((input: ParsedBy<S>, ctx: HookContext<Asking>) => MaybePromise<boolean | Ask>)
  /**
   * The calls of a step are collected into a batch that a human decides on as one table: `batches: [{ id, decision:
   * 'approve', except, edits }]`. Each approved call runs once, and `tool.batch.settled` reports what succeeded. Every
   * call waits, also where `needsApproval` returns false. Default false.
   */
  readonly stage?: boolean
  /**
   * Milliseconds after which the call ends for the run. Default 60,000. The time of a composite pauses while all its
   * calls wait for an outside response. For a remote tool: the wall-clock time until its result must arrive, across
   * process restarts; default: no limit.
   */
  readonly timeoutMs?: number
  /** Repeating it with the same `ctx.idempotencyKey` changes nothing. Default false. */
  readonly idempotent?: boolean
  /**
   * Called instead of asking a human about a call that is not safe to repeat and whose outcome is unknown: its process
   * died, or it ended without an answer and the same effect is requested again. Returns the result of the call, or
   * undefined if it had no effect; it then runs with the same key. If it throws or exceeds `timeoutMs`, a human is asked.
   *
   * @example
   * lookup: async (key) => { const paid = await bank.find(key); return paid && { output: paid.receipt } }
   */
  readonly lookup?: (
    idempotencyKey: string,
    input: ParsedBy<S>,
  ) => MaybePromise<{ readonly output: NoInfer<ResultOf<R, O>> } | undefined>
  /**
   * The business identity of the effect, such as the number of an invoice: two calls with the same key are the same
   * effect. It takes place at most once in its `effectScope`, whichever run, process or agent asks for it:
   *
   * - A call with the same key and the same arguments gets the stored result (`via: 'ledger'`) and does not run.
   * - A call with the same key and other arguments needs an approval.
   * - A call whose effect is unknown, after a time-out or a lost connection, runs only after `lookup` or a human has
   *   answered.
   *
   * `ctx.idempotencyKey` is then the same for all attempts at the effect. For tools with the effect `write` or `egress`.
   *
   * @example
   * effectKey: ({ invoice }) => invoice
   */
  readonly effectKey?: (input: ParsedBy<S>) => string
  /** Where the key is unique: in the session and its forks (default), for the principal, or for all users of the agent. */
  readonly effectScope?: Exclude<EffectScope, 'run'>
  /**
   * Undoes the effect of a call that succeeded, for `session.compensate`. Receives the result of the call.
   * `ctx.input` is its input, and `ctx.idempotencyKey` the compensation's own: the same on each attempt. It has the
   * `timeoutMs` and the `secrets` of the tool. For tools with the effect `write` or `egress` that are not composites.
   *
   * @example
   * compensate: (receipt, { input, idempotencyKey }) => bank.refund(receipt, input.amount, idempotencyKey)
   */
  readonly compensate?: (output: NoInfer<ResultOf<R, O>>, ctx: CompensationContext<ParsedBy<S>, App, Secret>) => unknown
  /** About how many tokens of a result the model gets. Default 16,384. */
  readonly maxResultTokens?: number
  /**
   * How a longer result is shortened. `head` keeps the start, `middle` omits the middle; the rest is lost. `spill`
   * keeps the whole in the store of the session: the model gets the start and a handle for `read_result`, which the
   * agent then has. A secret result is spilled only to a `private` store. Default `head`.
   */
  readonly truncation?: Truncation
  /** Names of the agent's secrets that `execute` gets as `ctx.secrets`, and whose tokens in arguments become values. */
  readonly secrets?: readonly Secret[]
  /** `sequential`: never at the same time as another call of the step. Default `parallel`. */
  readonly executionMode?: 'parallel' | 'sequential'
  /**
   * The tier of the step that reads the result, if the `model` of the agent or run has tiers. The highest tier of the
   * calls of a step applies; the default counts as `balanced`.
   */
  readonly preferredModel?: Tier
  /** It has to do with the conversation itself: scripts of code mode cannot call it, only the model. Default false. */
  readonly modelOnly?: boolean
  /** Kept out of the catalogue until the model finds it with `tool_search`: for large collections. Default false. */
  readonly deferLoading?: boolean
  /**
   * Caches results of calls with the same input for `ttlMs` milliseconds (default 300,000). For tools of effect `none`
   * and `read` only; errors are not cached. By default the key includes the principal and the session; use `share:
   * 'agent'` for results that are equal for all users.
   */
  readonly cache?: boolean | { readonly ttlMs?: number; readonly share?: 'session' | 'agent' }
  /**
   * The isolation that the runtime must provide. An agent with a weaker runtime is rejected. `process`: files confined
   * to the root, commands with limits. `isolated`: neither files nor network of this machine. The code of the tool
   * itself runs in this process and is trusted. Default `none`.
   */
  readonly sandbox?: Isolation
  /** The policy of the sanitiser for untrusted results of this tool, instead of its general policy. `false`: none. */
  readonly sanitize?: boolean | InboundPolicy
}
