/** What a principal may do in the console: `view` reads, `decide` also answers waits, `operate` does everything. */
export type ConsoleRole = 'view' | 'decide' | 'operate'

/** The status of a session in the console. */
export type ConsoleStatus = 'idle' | 'running' | 'suspended' | 'failed' | 'closed' | 'quarantined'

/** Tokens; an unknown counter is absent. */
export interface TokenCounts {
  inputTokens?: number | undefined
  outputTokens?: number | undefined
  reasoningTokens?: number | undefined
  cacheReadTokens?: number | undefined
  cacheWriteTokens?: number | undefined
  estimated?: true | undefined
}

/** A label as the log has it. */
export interface ConsoleLabel {
  integrity: string
  confidentiality: string
  readers?: string[] | undefined
  sources: string[]
}

/** Answer of `GET /api/console/access`. */
export interface AccessAnswer {
  principal: string
  role: ConsoleRole
  /** Secret text is withheld from this principal. */
  withheld: boolean
  agents: { name: string; description?: string | undefined }[]
  /** Names of models that a fork may take. */
  models: string[]
  /** Bytes of a request that sends input: `limits.bodyBytes` of the server. */
  sendBytes: number
  /** Names of policies that a fork may take. */
  policies: string[]
  /** Names of instructions that a fork may take. */
  prompts: string[]
}

/** Numbers of decisions. */
export interface VerdictSums {
  allowed: number
  asked: number
  approved: number
  refused: number
  denied: number
  declassified: number
  flagged: number
}

/** A row of the list of sessions. */
export interface ConsoleSession {
  id: string
  /** Empty if the first text of the session is secret. */
  title: string
  agent: string
  principal?: string | undefined
  status: ConsoleStatus
  createdAt: number
  updatedAt: number
  /** Model responses, with those of children. */
  steps: number
  usage: TokenCounts
  /** US dollars of the calls whose price is known. */
  cost: number
  /** The price of a call is unknown. */
  unpriced: boolean
  /** Ids of the open waits, oldest first; at most 100. */
  waits: string[]
  verdicts: VerdictSums
  forkedFrom?: string | undefined
}

/** Answer of `GET /api/console/sessions`. */
export interface SessionsAnswer {
  sessions: ConsoleSession[]
  /** The `before` of the next page. */
  next?: string | undefined
}

/** A row of the inbox: one pending decision of any session. */
export interface ConsoleWait {
  /** `quarantined`: the session itself waits to be released. `change`: the run waits until a change of its agent is accepted. */
  kind: 'approval' | 'input' | 'uncertain' | 'remote' | 'quarantined' | 'change'
  /** The id of the wait; of the session in quarantine; of the change. */
  id: string
  sessionId: string
  title: string
  /** The agent that asks. */
  agent: string
  /** The id of the session's principal. */
  requester?: string | undefined
  /** When it was asked. */
  at: number
  expiresAt?: number | undefined
  /** The log and offset of its entry. */
  log: string
  offset: number
  /** The question as one printable line. */
  text: string
  rule?: string | undefined
  /** `session`: the answer may hold for the whole session. */
  sticky?: 'session' | undefined
  tool?: { name: string; effect: string; idempotent: boolean; schema: unknown } | undefined
  /** The wait as in `pending` of the session: input, reason, evidence, label, warnings. Absent if it is withheld. */
  wait?: { id: string; callId: string; toolName: string; [key: string]: unknown } | undefined
  /** Of a `change`. */
  change?: ConsoleChange | undefined
}

/** A change of the code of an agent, under the rule `ask`. */
export interface ConsoleChange {
  id: string
  agent: string
  /** The versions before and now, where the agent states one. */
  from?: string | undefined
  to?: string | undefined
  instructions: boolean
  tools: { name: string; change: 'added' | 'removed' | 'changed' }[]
}

/** Answer of `GET /api/console/waits`. */
export interface ConsoleWaitsAnswer {
  waits: ConsoleWait[]
  /** The `after` of the next page. */
  next?: string | undefined
}

/** A log of a session, as an index names it. */
export interface IndexLog {
  log: string
  agent: string
  parent?: string | undefined
  /** The call of the parent that spawned it. */
  callId?: string | undefined
  /** The last offset in this answer; 0 without a row. */
  last: number
}

/** What only some kinds of entries have. */
export interface IndexDetail {
  /** Of a message: the calls in it. */
  calls?: { callId: string; toolName: string }[] | undefined
  role?: string | undefined
  /** Of a message that has no results of tools: its id. */
  message?: string | undefined
  /** Of a decision, a resolution or an audit entry. */
  by?: string | undefined
  /** Of a wait and its resolution. */
  token?: string | undefined
  /** Of a resolution: the decision. */
  decision?: string | undefined
  /** Outcome of a decision, a settled call or an attempt; status of a run or a child. */
  outcome?: string | undefined
  /** Of a planned call: the composite that makes it. */
  parentCallId?: string | undefined
  /** Of a child: its log. */
  child?: string | undefined
  /** Of a handoff. */
  to?: string | undefined
  batch?: string | undefined
  deadline?: number | undefined
  code?: string | undefined
}

/**
 * An entry without its body: number of its log and run in the lists of the answer, offset, time, type, op (or kind, via,
 * reason), agent, step, call, name (tool, model, rule, extension), number of its label, milliseconds, tokens, US dollars.
 */
export type IndexRow = [
  log: number,
  run: number,
  offset: number,
  at: number,
  type: string,
  op: string | null,
  agent: string,
  step: number,
  callId: string | null,
  name: string | null,
  label: number | null,
  ms: number | null,
  tokensIn: number | null,
  tokensOut: number | null,
  cost: number | null,
  detail: IndexDetail | null,
]

/** Answer of `GET /api/console/session/{id}/index`. */
export interface IndexAnswer {
  logs: IndexLog[]
  runs: string[]
  labels: ConsoleLabel[]
  rows: IndexRow[]
  /** The `after` of the next page; absent at the present end of the logs. */
  next?: string | undefined
}

/** A text of an entry that is not complete. */
export interface CutText {
  offset: number
  pointer: string
  /** Length of the whole text in UTF-16 code units. */
  length: number
}

/** Answer of `GET /api/console/session/{id}/entries`. */
export interface EntriesAnswer {
  log: string
  /** Entries as the log has them. Long texts end after 16,384 code units; `[withheld: secret]` stands for secret values. */
  entries: { offset: number; type: string; [key: string]: unknown }[]
  cut: CutText[]
  /** The `from` of the next page, if the range has more. */
  next?: number | undefined
}

/** Answer of `GET /api/console/session/{id}/text`. */
export interface TextAnswer {
  text: string
  start: number
  end: number
  length: number
}

/** The data of a `session.changed` frame of `GET /api/console/feed`. */
export type FeedFrame = ConsoleSession
