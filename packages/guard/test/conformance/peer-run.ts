import type { GuardableAgent } from '@provost/guard/openai-agents'

import type { RecordedAnswer } from './recorded-session.ts'

/** A recorded session for a runtime that is installed in `bench/peers`. */
export interface PeerRun {
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly parameters: any
    readonly execute: (input: unknown) => unknown
  }[]
  readonly turns: readonly string[]
  /** The answers of the model in all turns. */
  readonly answers: readonly RecordedAnswer[]
  readonly approves: boolean
  readonly protect: <A extends GuardableAgent>(agent: A) => A
}
