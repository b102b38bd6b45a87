import type { ConsoleLabel, ConsoleSession, ConsoleStatus, TokenCounts, VerdictSums } from './console-answer.ts'

/** What rules decided about the calls of one tool. */
export interface VerdictRow extends VerdictSums {
  rule: string
  /** Empty for answers of the model. */
  toolName: string
  /** Sessions in which it decided. */
  sessions: number
}

/** Answer of `GET /api/console/policy`. */
export interface PolicyAnswer {
  rows: VerdictRow[]
  /** Sessions that were counted. */
  sessions: number
  /** More sessions match: narrow `from` and `to`. */
  more: boolean
}

/** Answer of `GET /api/console/policy/rules`. */
export interface RulesAnswer {
  /** In the order in which the rules of a set run. */
  sets: { set: string; rules: string[] }[]
}

/** A verdict on a recorded call. */
export interface WhatIfVerdict {
  /** `unknown`: the record lacks what the policy needs. */
  decision: 'allow' | 'ask' | 'deny' | 'unknown'
  rule?: string | undefined
  reason?: string | undefined
  /** What the record lacks. */
  missing?: string[] | undefined
}

/** Answer of `POST /api/console/policy/what-if`. */
export interface WhatIfAnswer {
  calls: {
    sessionId: string
    log: string
    callId: string
    agent: string
    tool: string
    arguments: { path: string; role: string; origin?: string | undefined; value: string }[]
    before: WhatIfVerdict
    would: WhatIfVerdict
    /** `unchanged`, `moved` to another rule, `loosened`, `tightened`, `now-asks-human-agreed`, `now-allows-human-refused` or `cannot-judge`. */
    change: string
    /** It follows a changed verdict of the same run: the model would have seen something else. */
    counterfactual: boolean
    ran: boolean
    /** What a human decided about it. */
    human?: 'approve' | 'deny' | undefined
  }[]
  /** Calls by their change. */
  counts: Record<string, number>
  /** There are more calls than the answer has. */
  more: boolean
}

/** What was spent under one name: a day, an agent or a model. */
export interface CostRow {
  name: string
  usage: TokenCounts
  /** Of `usage`: failed attempts that were billed. */
  discarded: TokenCounts
  /** US dollars of the calls whose price is known. */
  cost: number
  unpriced: boolean
}

/** Answer of `GET /api/console/cost`. */
export interface CostAnswer {
  by: 'day' | 'agent' | 'model'
  rows: CostRow[]
  sessions: number
  more: boolean
}

/** Answer of `GET /api/console/system`. */
export interface SystemAnswer {
  /** This process. `name` is its host and process id. */
  process: { name: string; running: string[]; room: number; engine: string; startedAt: number; feeds: number }
  store: { kind: string; summaries: 'stored' | 'in-memory' }
  /** Sessions with a run in progress, at most 100, and the state of their leases. */
  leases: {
    sessionId: string
    agent: string
    holder: 'none' | 'alive' | 'lapsed'
    /** The process that took the lease; absent for a free lease, and where the store does not tell. */
    process?: string | undefined
    /** When it took or last renewed the lease. */
    renewedAt?: number | undefined
    takeovers: number
    until?: number | undefined
  }[]
  /** Processes that hold those leases, the last heard first. A process without a run holds none, and is not listed. */
  processes: {
    name: string
    /** `silent`: it neither renewed nor released any of its leases in time. */
    state: 'alive' | 'silent'
    runs: number
    /** When it last took or renewed a lease. */
    renewedAt: number
  }[]
  /** Sessions that a process looks at again at a certain time, the next first, of the 100 that were updated last and wait. */
  due: { sessionId: string; agent: string; at: number; waits: string[] }[]
  /** Sessions in quarantine, at most 100. */
  quarantined: { sessionId: string; agent: string; updatedAt: number }[]
}

/** A message that the model received, or that the history has. */
export interface StateMessage {
  id: string
  role: string
  agent?: string | undefined
  label: ConsoleLabel
  content: { type: string; [key: string]: unknown }[]
}

/** What a fork replaces in its agent. `[withheld: secret]` stands for a text that you may not read. */
export interface ConsoleOverrides {
  policy?: string | undefined
  prompt?: string | undefined
  promptText?: string | undefined
}

/** Answer of `GET /api/console/session/{id}/state`. */
export interface StateAnswer {
  log: string
  /** The offset of the last entry in it. */
  at: number
  status: ConsoleStatus | 'completed' | 'aborted'
  agent: string
  /** What the model would receive next; the last 200 messages. Texts end after 16,384 UTF-16 code units. */
  view: StateMessage[]
  /** Messages before those in `view`. */
  earlier: number
  /** The join over all that the model received. */
  label: ConsoleLabel
  /** Open waits, as `pending` of a session. */
  pending: { kind: string; wait: { id: string; callId: string; toolName: string; [key: string]: unknown } }[]
  usage: TokenCounts
  cost?: number | undefined
  /** Of a fork that replaces parts of its agent. */
  overrides?: ConsoleOverrides | undefined
  step: number
  /** Calls of the step without a result. */
  calls: { callId: string; toolName: string; stage: string }[]
}

/** A place of some words. */
export interface TracePlace {
  log: string
  offset: number
  /** To the text in the entry. */
  pointer: string
  /** In UTF-16 code units. */
  start: number
  end: number
  /** `text`: these words are there. `label`: it was made from data of the same origin. */
  kind: 'text' | 'label'
  /** How the words are written: `verbatim`, `normalised`, `base64`, `reversed`, … */
  view: string
  /** The words and a few around them. */
  excerpt: string
}

/** Answer of `POST /api/console/session/{id}/trace`. */
export interface TraceAnswer {
  /** Of the entry that has the words. */
  label: ConsoleLabel
  text: string
  /** Where the words were before. */
  sources: TracePlace[]
  /** Where they went. */
  sinks: TracePlace[]
  /** A limit was reached: there may be more places. */
  more: boolean
}

/** Answer of `GET /api/console/compare`. */
export interface CompareAnswer {
  /** Entries with the same content at the beginning of both. */
  common: number
  /** The first entries that differ; null at the end of a log. */
  first: { a: { offset: number; text: string } | null; b: { offset: number; text: string } | null }
  sums: { a: ConsoleSession; b: ConsoleSession }
  /** What each replaces in its agent, if it is a fork that does. */
  overrides: { a?: ConsoleOverrides | undefined; b?: ConsoleOverrides | undefined }
}

/** Answer of `POST /api/console/session/{id}/replay`. */
export interface ReplayAnswer {
  /** Absent: the loop writes the same log. */
  difference?: { offset: number; expected: string; got: string } | undefined
}

/** Answer of `POST /api/console/session/{id}/fork`. */
export interface ForkAnswer {
  sessionId: string
  /** The last entry of the original that the fork has. */
  offset: number
  /** What was not copied. */
  left: string[]
}

/** Answer of `POST /api/console/import`. */
export interface ImportAnswer {
  sessionId: string
  agent: string
  entries: number
  trusted: boolean
  existing: boolean
}
