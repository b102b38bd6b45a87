import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { z } from 'provost'

// Facts that the offline model takes from tool results. It reads the same JSON as any other model.

const customerSchema = z.object({ id: z.string(), name: z.string(), email: z.string(), city: z.string() })
const refundSchema = z.object({ amount: z.number(), paidTo: z.string(), reason: z.string(), on: z.string() })
const orderSchema = z.object({
  id: z.number(),
  customerId: z.string(),
  placed: z.string(),
  status: z.enum(['processing', 'shipped', 'delivered', 'returned', 'cancelled']),
  carrier: z.string().exactOptional(),
  tracking: z.string().exactOptional(),
  shipped: z.string().exactOptional(),
  due: z.string().exactOptional(),
  delivered: z.string().exactOptional(),
  paidWith: z.string(),
  paid: z.number(),
  items: z.array(z.object({ name: z.string(), quantity: z.number(), price: z.number() })),
  refunds: z.array(refundSchema),
})
const mailSchema = z.object({
  mail: z.string(),
  from: z.string(),
  fromName: z.string(),
  replyTo: z.string().exactOptional(),
  subject: z.string(),
  date: z.string().exactOptional(),
  text: z.string(),
  attachments: z.array(z.object({ name: z.string(), text: z.string().exactOptional() })),
})

export type KnownCustomer = z.output<typeof customerSchema>
export type KnownOrder = z.output<typeof orderSchema>
export type KnownMail = z.output<typeof mailSchema>

/** The outcome of a call with an effect. */
export interface Deed {
  readonly input: Readonly<Record<string, unknown>>
  /** Absent when the call succeeded. */
  readonly problem?: string
  /** It may have taken effect: the model calls once more. */
  readonly isUnclear?: boolean
}
/** Everything known from the conversation since the last task. */
export interface Facts {
  /** The file name of the mail to handle. */
  readonly task: string | undefined
  readonly mail: KnownMail | undefined
  readonly mailProblem: string | undefined
  /** The shop's rules from the researcher; undefined until the researcher was asked. */
  readonly rules: KnownRules | undefined
  /** The letter from the writers; empty when they failed. */
  readonly letter: string | undefined
  /** By search term. */
  readonly customers: ReadonlyMap<string, readonly KnownCustomer[]>
  readonly orders: ReadonlyMap<string, readonly KnownOrder[]>
  readonly refunds: readonly (Deed & { readonly paid?: z.output<typeof refundSchema> })[]
  readonly drafts: readonly Deed[]
  readonly forwards: readonly Deed[]
  readonly closed: boolean
  /** The desk's memories of the customer, from the reminder. */
  readonly memories: readonly string[]
}

/** The rules in days; a rule that is not mentioned is absent. */
export interface KnownRules {
  readonly returnDays?: number
  readonly warrantyDays?: number
  readonly lateDays?: number
}

function rulesIn(answer: string): KnownRules {
  const days = (pattern: RegExp): number | undefined => {
    const [, found] = pattern.exec(answer) ?? []
    return found === undefined ? undefined : Number(found)
  }
  const returnDays = days(/sent back is refunded within (\d{1,4}) days/)
  const warrantyDays = days(/faulty is refunded within (\d{1,4}) days/)
  const lateDays = days(/more than (\d{1,4}) days late/)
  return {
    ...(returnDays !== undefined && { returnDays }),
    ...(warrantyDays !== undefined && { warrantyDays }),
    ...(lateDays !== undefined && { lateDays }),
  }
}

/** Keys of order look-ups: by number, or all orders of a customer. */
export const byOrder = (id: number): string => `order ${id}`
export const byCustomer = (id: string): string => `customer ${id}`

/** Reads a conversation from its last user message on. */
export function factsOf(prompt: LanguageModelV4Prompt): Facts {
  const start = prompt.findLastIndex(isTask)
  const memories = prompt.flatMap((message) => (isReminder(textIn(message)) ? linesIn(textIn(message)) : []))
  const inputs = new Map<string, Readonly<Record<string, unknown>>>()
  const customers = new Map<string, readonly KnownCustomer[]>()
  const orders = new Map<string, readonly KnownOrder[]>()
  const refunds: (Deed & { paid?: z.output<typeof refundSchema> })[] = []
  const drafts: Deed[] = []
  const forwards: Deed[] = []
  let mail: KnownMail | undefined
  let mailProblem: string | undefined
  let rules: KnownRules | undefined
  let letter: string | undefined
  let closed = false

  for (const message of prompt.slice(start + 1)) {
    if (message.role !== 'assistant' && message.role !== 'tool') continue
    for (const part of message.content) {
      if (part.type === 'tool-call') inputs.set(part.toolCallId, recordOf(part.input))
      if (part.type !== 'tool-result') continue
      const input = inputs.get(part.toolCallId) ?? {}
      const { value, problem } = readOutput(part.output)
      const deed: Deed = { input, ...(problem !== undefined && { problem }) }
      switch (part.toolName) {
        case 'read_mail': {
          const read = mailSchema.safeParse(value)
          if (read.success) mail = read.data
          else mailProblem = problem ?? 'the mail came in a form I do not know'
          break
        }
        case 'ask_policy':
          rules = rulesIn(typeof value === 'string' ? value : '')
          break
        case 'write_letter':
          letter = typeof value === 'string' ? value : ''
          break
        case 'find_customer':
          customers.set(String(input['query']), listIn(value, 'customers', customerSchema))
          break
        case 'find_orders': {
          const id = input['orderId']
          const key = typeof id === 'number' ? byOrder(id) : byCustomer(String(input['customerId']))
          orders.set(key, listIn(value, 'orders', orderSchema))
          break
        }
        case 'refund': {
          const paid = refundSchema.safeParse(value)
          const earlier = refunds.findIndex((one) => one.input['orderId'] === input['orderId'])
          if (earlier >= 0) refunds.splice(earlier, 1)
          const isUnclear = earlier < 0 && problem?.includes('It may have taken effect') === true
          refunds.push({ ...deed, ...(isUnclear && { isUnclear }), ...(paid.success && { paid: paid.data }) })
          break
        }
        case 'draft_reply':
          drafts.push(deed)
          break
        case 'forward_mail':
          forwards.push(deed)
          break
        case 'close_ticket':
          closed = true
      }
    }
  }
  return {
    task: taskOf(prompt[start]),
    mail,
    mailProblem,
    rules,
    letter,
    customers,
    orders,
    refunds,
    drafts,
    forwards,
    closed,
    memories,
  }
}

/** Results of a tool's calls, in order. */
export function resultsIn(
  prompt: LanguageModelV4Prompt,
  toolName: string,
): readonly { readonly value?: unknown; readonly problem?: string }[] {
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) =>
          part.type === 'tool-result' && part.toolName === toolName ? [readOutput(part.output)] : [],
        )
      : [],
  )
}

/** Number of calls in a conversation, for unique ids of new calls. */
export function callsIn(prompt: LanguageModelV4Prompt): number {
  return prompt.reduce((sum, { role, content }) => sum + (role === 'tool' ? content.length : 0), 0)
}

/** Whether this is a user's message, not one that the runtime sent in the user's role. */
function isTask(message: LanguageModelV4Prompt[number]): boolean {
  const text = textIn(message)
  return message.role === 'user' && !isReminder(text) && !/^\w+ handed the conversation over to you/.test(text)
}

export function textIn(message: LanguageModelV4Prompt[number]): string {
  if (message.role !== 'user') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function isReminder(text: string): boolean {
  return text.startsWith('From memory:')
}

/** The quoted texts at the ends of the lines. */
function linesIn(reminder: string): readonly string[] {
  return reminder.split('\n').flatMap((line) => {
    const [, quoted] = /^- .*: ("(?:[^"\\]|\\.)*")$/.exec(line) ?? []
    return quoted === undefined ? [] : [z.string().parse(JSON.parse(quoted))]
  })
}

/** The mail name, which the task holds as a JSON string. */
function taskOf(message: LanguageModelV4Prompt[number] | undefined): string | undefined {
  if (message?.role !== 'user') return undefined
  const quoted = /"(?:[^"\\\n]|\\.)*\.eml"/i.exec(textIn(message))?.[0]
  try {
    return quoted === undefined ? undefined : z.string().parse(JSON.parse(quoted))
  } catch {
    return undefined
  }
}

function readOutput(output: LanguageModelV4ToolResultOutput): { readonly value?: unknown; readonly problem?: string } {
  switch (output.type) {
    case 'json':
      return { value: output.value }
    case 'text':
      return { value: jsonIn(output.value) ?? output.value }
    case 'error-text':
      return { problem: output.value }
    case 'error-json':
      return { problem: messageIn(output.value) }
    case 'execution-denied':
      return { problem: output.reason ?? 'it was not allowed' }
    case 'content':
      return readOutput({
        type: 'text',
        value: output.value.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      })
  }
}

function messageIn(value: unknown): string {
  const { message } = recordOf(value)
  return typeof message === 'string' ? message : JSON.stringify(value)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

function listIn<T>(value: unknown, key: string, schema: z.ZodType<T>): readonly T[] {
  const list = recordOf(value)[key]
  if (!Array.isArray(list)) return []
  return list.flatMap((item) => {
    const read = schema.safeParse(item)
    return read.success ? [read.data] : []
  })
}
