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

/** How a conversation that grows too long is made to fit. */
export interface CompactionOptions {
  /** Tokens of the model's window, or one number for each `provider/model`. Default: what is known of the model. */
  readonly window?: number | Readonly<Record<string, number>>
  /** How much of the window may be full before something is done. Default 0.85. */
  readonly threshold?: number
  /** Tokens at the end that stay as they are. Default a quarter of the window, at most 20,000. */
  readonly keepRecent?: number
  /** Tried in this order, the cheap ones first. Default `['clear-tool-results', 'summarize']`. */
  readonly strategy?: Strategy | readonly Strategy[]
  /** Writes the summary itself, instead of a model. */
  readonly summarize?: Summarizer
  /** The model that writes the summary. Default: the agent's. */
  readonly model?: ModelSpec
  /** What the summariser may see. Default for `summarize`: public and internal; for a model: what its spec says. */
  readonly accepts?: readonly Confidentiality[]
  /** Milliseconds that the summariser has. Default 60,000. */
  readonly timeoutMs?: number
  /** Facts and rules that are said again behind each summary, from here and never from a summary. */
  readonly pinned?: Lines
  /** What is still to be done, said again behind each summary. Open approvals and the steps of a plan are named without it. */
  readonly todos?: Lines
  /**
   * What is put behind a summary, by name. Built in: `instructions`, `pinned`, `todos`, `results`; one of these names
   * takes its place, `false` leaves it out. One that fails is reported and left out.
   */
  readonly after?: Readonly<Record<string, AfterCompaction | false>>
}

/** Lines from our own source. */
export type Lines = readonly string[] | ((ctx: HookContext) => Answer<readonly string[]>)

/**
 * `clear-tool-results` empties old results and costs nothing; `summarize` puts a summary in the place of old messages;
 * `provider` leaves it to providers that do it themselves (OpenAI compacts, Anthropic clears and compacts), where the model is theirs.
 */
export type Strategy = 'clear-tool-results' | 'summarize' | 'provider' | CustomStrategy

/** A way of your own to make a history shorter. */
export interface CustomStrategy {
  readonly name: string
  /** Gives the messages as they should be: those that stay as they are, and new ones. */
  compact(input: CompactionInput, ctx: HookContext): Answer<readonly (MessageInit | Message)[]>
}

/** What a strategy goes by. */
export interface CompactionInput {
  /** All of the view. Calls and their results go or stay together. */
  readonly messages: readonly Message[]
  /** Index of the first message that is recent: it and those after it stay as they are. */
  readonly recent: number
  /** Tokens that the messages should not exceed. */
  readonly goal: number
  /** The request that has to stay as it is. */
  readonly request?: Message
}

/** Writes a summary. What it says is taken for data from a model, whoever it is. */
export type Summarizer = (request: SummaryRequest, ctx: HookContext) => MaybePromise<string>

/** What a summary is made from. */
export interface SummaryRequest {
  readonly messages: readonly Message[]
  /** The same as text, long results cut. */
  readonly transcript: string
  /** More than that is cut off. */
  readonly maxTokens: number
  /** Aborts when the time is over, or the run. */
  readonly signal: AbortSignal
}

/** What was compacted. */
export interface Compacted {
  /** What is not in the view any more. */
  readonly before: readonly Message[]
  /** What stands there instead; absent where a strategy of your own put something else. */
  readonly summary?: Message
}

/** Adds messages behind a summary. What says nothing of its label carries the view's. */
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

/** What stands behind a summary without being asked for. */
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

// Said this way, NaN and text do not pass.
function check(ok: boolean, option: string, should: string): void {
  if (ok) return
  throw new ProvostError('invalid-option', `compaction got a ${option} that it cannot use.`, {
    hint: `Give ${should}.`,
  })
}
