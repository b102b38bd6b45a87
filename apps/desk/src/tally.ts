import type { AgentEvent, Json, UsageReport } from 'provost'
import { z } from 'provost'

import type { Mail } from './mail.ts'

/** A letter in the outbox. */
export interface Written {
  readonly mail: string
  readonly kind: 'reply' | 'forward'
  readonly to: string
  /** The recipient is not the sender of the mail. */
  readonly elsewhere: boolean
}
export interface Paid {
  readonly mail: string
  readonly orderId: number
  readonly amount: number
  readonly paidTo: string
  /** It went to an account that the agent named, not to the original payment method. */
  readonly elsewhere: boolean
}
/** A mail whose run resumes after a decision. */
export interface Waiting {
  readonly mail: string
  readonly session: string
  readonly reasons: readonly string[]
  /** The options that decide. */
  readonly ways: readonly ('approve' | 'done' | 'redo')[]
}
/** A mail that was not handled. */
export interface Failed {
  readonly mail: string
  readonly reason: string
  /** The session of a run that can be resumed; absent for an unreadable mail. */
  readonly session?: string
}
/** Totals of one start of the desk, counted from events. */
export interface Tally {
  readonly handled: readonly string[]
  readonly failed: readonly Failed[]
  /** Suspended until a decision. */
  readonly waiting: readonly Waiting[]
  readonly written: readonly Written[]
  readonly paid: readonly Paid[]
  /** Calls that a tool rejected or failed. */
  readonly refused: readonly { readonly mail: string; readonly tool: string; readonly reason: string }[]
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars; `undefined` when the price of a run is unknown. */
  readonly cost: number | undefined
}
export interface Tallier {
  begin(mail: Mail): void
  add(event: AgentEvent): void
  /** Records a mail that could not be read, or whose run failed. */
  fail(mail: string, reason: string): void
  readonly tally: Tally
}

const letter = z.object({ to: z.string() })
const payment = z.object({ orderId: z.number(), amount: z.number(), paidTo: z.string() })
const payOrder = z.object({ payTo: z.string().optional() })

export function createTallier(): Tallier {
  const handled: string[] = []
  const failed: Failed[] = []
  let waiting: Waiting[] = []
  const written: Written[] = []
  const paid: Paid[] = []
  const refused: { mail: string; tool: string; reason: string }[] = []
  let mail: Mail | undefined
  let session = ''
  let reasons: readonly string[] = []
  let ways: Waiting['ways'] = []
  let inputs = new Map<string, Json>()
  let inputTokens = 0
  let outputTokens = 0
  let cost: number | undefined = 0

  const settle = (toolName: string, input: Json | undefined, value: unknown): void => {
    const name = mail?.name ?? ''
    if (toolName === 'draft_reply' || toolName === 'forward_mail') {
      const { data } = letter.safeParse(value)
      if (!data) return
      const elsewhere = data.to !== mail?.from && data.to !== mail?.replyTo
      written.push({ mail: name, kind: toolName === 'draft_reply' ? 'reply' : 'forward', to: data.to, elsewhere })
    }
    if (toolName === 'refund') {
      const { data } = payment.safeParse(value)
      const asked = payOrder.safeParse(input).data
      if (data) paid.push({ mail: name, ...data, elsewhere: asked?.payTo !== undefined })
    }
  }
  const count = (usage: UsageReport, price: number | undefined): void => {
    inputTokens += usage.inputTokens ?? 0
    outputTokens += usage.outputTokens ?? 0
    cost = cost === undefined || price === undefined ? undefined : cost + price
  }

  return {
    begin(next) {
      mail = next
      inputs = new Map()
    },
    add(event) {
      // Actions and usage of child runs belong to the run that started them.
      const outermost = event.parents.length === 0
      if (event.type === 'tool.execute.start') inputs.set(event.callId, event.input)
      if (event.type === 'tool.execute.end')
        settle(event.toolName, inputs.get(event.callId), event.output.type === 'json' ? event.output.value : undefined)
      // An unknown outcome is no refusal: a question or a lookup follows.
      if (event.type === 'tool.execute.error' && event.effectStatus?.state !== 'unknown')
        refused.push({ mail: mail?.name ?? '', tool: event.toolName, reason: event.error.message })
      if (!outermost) return
      if (event.type === 'agent.start' || event.type === 'agent.resumed') session = event.sessionId
      // It waits no longer.
      if (event.type === 'agent.resumed') waiting = waiting.filter((one) => one.session !== event.sessionId)
      if (event.type === 'agent.suspended') {
        const { approvals, uncertain } = event.pending
        reasons = [
          ...approvals.map(({ reason }) => reason),
          ...uncertain.map(({ toolName }) => `it is unknown whether ${toolName} took place`),
        ]
        ways = approvals.length > 0 ? ['approve'] : ['done', 'redo']
      }
      if (event.type !== 'agent.end') return
      count(event.usage, event.cost)
      if (event.status === 'completed') handled.push(mail?.name ?? '')
      else if (event.status === 'suspended') waiting.push({ mail: mail?.name ?? '', session, reasons, ways })
      else failed.push({ mail: mail?.name ?? '', reason: event.error?.message ?? event.status, session })
    },
    fail: (name, reason) => failed.push({ mail: name, reason }),
    get tally() {
      return { handled, failed, waiting, written, paid, refused, inputTokens, outputTokens, cost }
    },
  }
}
