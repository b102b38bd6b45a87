import type {
  Answer,
  Confidentiality,
  HookContext,
  KnownKeys,
  MaybePromise,
  Message,
  MessageInit,
  ModelSpec,
  MovedKeys,
} from '@provost/core'
import { checkChoice, checkOptions, confidentialities, nearestName, ProvostError } from '@provost/core'
import { checkModel } from '@provost/provider'

/** Options of `compaction`. */
export interface CompactionOptions {
  /** Tokens of the model's window, or one number for each `provider/model`. Default: the known window of the model. */
  readonly window?: number | Readonly<Record<string, number>>
  /** Share of the window that triggers a compaction. Default 0.85. */
  readonly threshold?: number
  /** Tokens at the end that stay unchanged. Default: a quarter of the window, at most 20,000. */
  readonly keepRecent?: number
  /** Strategies, tried in this order; put cheap ones first. Default `['clear-tool-results', 'summarize']`. */
  readonly strategy?: Strategy | readonly Strategy[]
  /** Writes the summary instead of a model. */
  readonly summarize?: Summarizer
  /** The model that writes the summary. Default: the agent's. */
  readonly model?: ModelSpec
  /** Confidentiality that the summariser may read. Default for `summarize`: public and internal; for a model: its spec. */
  readonly accepts?: readonly Confidentiality[]
  /** Time limit of the summariser in milliseconds. Default 60,000. */
  readonly timeoutMs?: number
  /** Facts and rules that are repeated after each summary, always from this option. */
  readonly pinned?: Lines
  /** Open tasks that are repeated after each summary. Open approvals and plan steps are added automatically. */
  readonly todos?: Lines
  /**
   * Hooks that add messages after a summary, by name. Built in: `instructions`, `pinned`, `todos`, `results`. A hook of the
   * same name replaces a built-in one; `false` removes it. A hook that fails is reported and skipped.
   */
  readonly after?: Readonly<Record<string, AfterCompaction | false>>
}

/** Lines of text, or a function that returns them. */
export type Lines = readonly string[] | ((ctx: HookContext) => Answer<readonly string[]>)

/**
 * A strategy of compaction.
 * - `clear-tool-results` empties old results, without a model call.
 * - `summarize` replaces old messages by a summary.
 * - `provider` leaves it to the provider, if it can (OpenAI compacts, Anthropic clears and compacts).
 */
export type Strategy = 'clear-tool-results' | 'summarize' | 'provider' | CustomStrategy

/** A custom strategy to shorten a history. */
export interface CustomStrategy {
  readonly name: string
  /** Returns the shortened history: unchanged messages, and new ones. */
  compact(input: CompactionInput, ctx: HookContext): Answer<readonly (MessageInit | Message)[]>
}

/** The input of a custom strategy. */
export interface CompactionInput {
  /** All messages of the view. Keep or remove a call together with its result. */
  readonly messages: readonly Message[]
  /** Index of the first recent message: it and later messages stay unchanged. */
  readonly recent: number
  /** Tokens that the messages should not exceed. */
  readonly goal: number
  /** The user request that must stay unchanged. */
  readonly request?: Message
}

/** Writes a summary. Its text is treated as data from a model. */
export type Summarizer = (request: SummaryRequest, ctx: HookContext) => MaybePromise<string>

/** The input of a summariser. */
export interface SummaryRequest {
  readonly messages: readonly Message[]
  /** The messages as text, with long results cut. */
  readonly transcript: string
  /** Tokens of the summary at most; a longer one is cut. */
  readonly maxTokens: number
  /** Aborts when the time limit is reached or the run ends. */
  readonly signal: AbortSignal
}

/** The result of a compaction. */
export interface Compacted {
  /** Messages that were removed from the view. */
  readonly before: readonly Message[]
  /** The summary that replaces them; absent after a custom strategy. */
  readonly summary?: Message
}

/** Returns messages to add after a summary. A message without a label carries the view's label. */
export type AfterCompaction = (compacted: Compacted, ctx: HookContext) => Answer<readonly MessageInit[]>

/** The options with their defaults. */
export type Settings = Omit<CompactionOptions, 'strategy'> & {
  readonly threshold: number
  readonly strategies: readonly Strategy[]
  readonly timeoutMs: number
}

const optionKeys = {
  window: true,
  threshold: true,
  keepRecent: true,
  strategy: true,
  summarize: true,
  model: true,
  accepts: true,
  timeoutMs: true,
  pinned: true,
  todos: true,
  after: true,
} satisfies KnownKeys<CompactionOptions>

const movedKeys: MovedKeys = {
  maxTokens: 'Name it "window".',
  strategies: 'Name it "strategy"; it takes a list too.',
  summarizer: 'Name it "summarize".',
  keep: 'Name it "keepRecent"; it is in tokens.',
}

/** Names of the built-in hooks. */
const builtIn = ['instructions', 'pinned', 'todos', 'results']

function checkAfter(after: CompactionOptions['after'] = {}): void {
  for (const [name, add] of Object.entries<unknown>(after)) {
    if (typeof add === 'function' || add === undefined || (add === false && builtIn.includes(name))) continue
    const near = add === false ? nearestName(name, builtIn) : undefined
    throw new ProvostError(
      'invalid-option',
      `compaction got "after" with ${name}: ${add === false ? 'false' : typeof add}.`,
      {
        hint:
          near === undefined
            ? `Give a function; false leaves out one of ${builtIn.join(', ')}.`
            : `Did you mean ${JSON.stringify(near)}?`,
      },
    )
  }
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function settingsOf(options: CompactionOptions): Settings {
  checkOptions(options, optionKeys, 'compaction', movedKeys)
  checkAfter(options.after)
  for (const level of options.accepts ?? []) checkChoice(level, confidentialities, 'accepts', 'compaction')
  if (options.model !== undefined) checkModel(options.model, 'compaction')
  const { threshold = 0.85, timeoutMs = 60_000, strategy = ['clear-tool-results', 'summarize'], ...rest } = options
  const strategies = Array.isArray(strategy) ? strategy : [strategy]
  const { window, keepRecent = 0 } = rest
  const windows = typeof window === 'object' ? Object.values(window) : window === undefined ? [] : [window]
  check(threshold > 0 && threshold <= 1, 'threshold', 'a share of the window, such as 0.85')
  check(
    windows.every((tokens) => tokens > 0),
    'window',
    'a number of tokens, such as 200_000',
  )
  check(keepRecent >= 0, 'keepRecent', 'a number of tokens, such as 10_000')
  check(timeoutMs > 0, 'timeoutMs', 'milliseconds, such as 60_000')
  check(
    strategies.length > 0 && strategies.every(isStrategy),
    'strategy',
    'clear-tool-results, summarize, provider, or an object with name and compact',
  )
  return { ...rest, threshold, timeoutMs, strategies }
}

function isStrategy(strategy: Strategy): boolean {
  if (typeof strategy === 'object') return typeof strategy.compact === 'function'
  return strategy === 'clear-tool-results' || strategy === 'summarize' || strategy === 'provider'
}

// Callers pass comparisons such as `a < b`, which are false for NaN and text.
function check(ok: boolean, option: string, should: string): void {
  if (ok) return
  throw new ProvostError('invalid-option', `The option ${option} of compaction is invalid.`, {
    hint: `Give ${should}.`,
  })
}
