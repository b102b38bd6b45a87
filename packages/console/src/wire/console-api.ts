import type {
  AccessAnswer,
  CompareAnswer,
  ConsoleStatus,
  ConsoleWaitsAnswer,
  CostAnswer,
  EntriesAnswer,
  ForgetAnswer,
  ForkAnswer,
  ImportAnswer,
  IndexAnswer,
  MemoriesAnswer,
  PolicyAnswer,
  ReplayAnswer,
  RulesAnswer,
  SessionsAnswer,
  StateAnswer,
  SystemAnswer,
  TextAnswer,
  TraceAnswer,
  WhatIfAnswer,
} from '@provost/server/console'

import { accessPath, ask, askJson } from './connection.ts'

/** Which sessions a list has. */
export interface SessionFilter {
  readonly q?: string | undefined
  readonly status?: ConsoleStatus | undefined
  readonly agent?: string | undefined
  readonly principal?: string | undefined
  readonly rule?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** A range of time, in milliseconds since 1970. */
export interface TimeRange {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** A place in a log of a session; the session's own log by default. */
interface LogPlace {
  readonly log?: string | undefined
  readonly offset: number
  readonly pointer: string
}

/** A fork at an entry, and what happens with a turn that had not ended there. */
export interface ForkRequest {
  readonly at?: number | undefined
  readonly unfinished?: 'leave-out' | 'end' | 'continue' | undefined
  readonly model?: string | undefined
  readonly policy?: string | undefined
  readonly prompt?: string | undefined
  readonly promptText?: string | undefined
  readonly results?: readonly { readonly callId: string; readonly output: unknown }[] | undefined
}

/** A policy as data. */
export interface EditedPolicy {
  readonly set: string
  readonly without: readonly string[]
  readonly deny: readonly string[]
  readonly ask: readonly string[]
  readonly onViolation: 'ask' | 'deny'
}

type Signal = AbortSignal | undefined

const root = '/api/console'

function of(id: string): string {
  return `${root}/session/${encodeURIComponent(id)}`
}

/**
 * The routes of the console, one function each. Their answers have the types of the server.
 *
 * Each throws ServerError for an error response, and TypeError without a response.
 */
export const consoleApi = {
  access: (signal?: Signal) => askJson<AccessAnswer>(accessPath, { signal }),
  sessions: (
    query: SessionFilter & { readonly before?: string | undefined; readonly limit?: number },
    signal?: Signal,
  ) => askJson<SessionsAnswer>(`${root}/sessions`, { signal, query: { ...query } }),
  waits: (query: { readonly after?: string | undefined; readonly limit?: number }, signal?: Signal) =>
    askJson<ConsoleWaitsAnswer>(`${root}/waits`, { signal, query }),
  index: (
    id: string,
    query: { readonly log?: string | undefined; readonly after?: string | undefined; readonly limit?: number } = {},
    signal?: Signal,
  ) => askJson<IndexAnswer>(`${of(id)}/index`, { signal, query }),
  /** Entries `from` to `to`, both included; at most 200. */
  entries: (
    id: string,
    query: { readonly log?: string | undefined; readonly from: number; readonly to?: number | undefined },
    signal?: Signal,
  ) => askJson<EntriesAnswer>(`${of(id)}/entries`, { signal, query }),
  text: (
    id: string,
    query: LogPlace & { readonly start?: number | undefined; readonly end?: number | undefined },
    signal?: Signal,
  ) => askJson<TextAnswer>(`${of(id)}/text`, { signal, query: { ...query } }),
  state: (id: string, query: { readonly log?: string | undefined; readonly at: number }, signal?: Signal) =>
    askJson<StateAnswer>(`${of(id)}/state`, { signal, query }),
  /** Where the selected words come from, and where they went. */
  trace: (id: string, body: LogPlace & { readonly start: number; readonly end: number }, signal?: Signal) =>
    askJson<TraceAnswer>(`${of(id)}/trace`, { signal, body }),
  policy: (query: TimeRange & { readonly rule?: string | undefined }, signal?: Signal) =>
    askJson<PolicyAnswer>(`${root}/policy`, { signal, query: { ...query } }),
  rules: (signal?: Signal) => askJson<RulesAnswer>(`${root}/policy/rules`, { signal }),
  whatIf: (body: { readonly sessions: readonly string[]; readonly policy: EditedPolicy }, signal?: Signal) =>
    askJson<WhatIfAnswer>(`${root}/policy/what-if`, { signal, body }),
  cost: (query: TimeRange & { readonly by?: CostAnswer['by'] }, signal?: Signal) =>
    askJson<CostAnswer>(`${root}/cost`, { signal, query: { ...query } }),
  system: (signal?: Signal) => askJson<SystemAnswer>(`${root}/system`, { signal }),
  compare: (query: { readonly a: string; readonly b: string }, signal?: Signal) =>
    askJson<CompareAnswer>(`${root}/compare`, { signal, query }),
  replay: (id: string) => askJson<ReplayAnswer>(`${of(id)}/replay`, { body: {} }),
  memories: (id: string, signal?: Signal) => askJson<MemoriesAnswer>(`${of(id)}/memories`, { signal }),
  forget: (id: string, body: { readonly memory: string; readonly id: string }) =>
    askJson<ForgetAnswer>(`${of(id)}/memories/forget`, { body }),
  fork: (id: string, body: ForkRequest) => askJson<ForkAnswer>(`${of(id)}/fork`, { body }),
  /** The export as JSON lines; for readers outside, without what they must not see. */
  export: async (id: string, query: { readonly for?: 'outside' | undefined } = {}, signal?: Signal) =>
    (await ask(`${of(id)}/export`, { signal, query })).text(),
  import: (body: { readonly lines: string; readonly id?: string | undefined }) =>
    askJson<ImportAnswer>(`${root}/import`, { body }),
  /** Releases a session from quarantine. The route is one of the server's, which the client does not have. */
  release: (id: string) =>
    askJson<{ readonly released: boolean }>(`/api/agent/session/${encodeURIComponent(id)}/release`, { body: {} }),
} as const
