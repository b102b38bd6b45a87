import {
  type Agent,
  type AgentEvent,
  type AgentStream,
  type Decisions,
  type OnApproval,
  type Session,
  type UncertainDecision,
  z,
} from 'provost'

import { taskFor } from './agent.ts'
import type { OnUncertain } from './approval.ts'
import type { Desk } from './desk.ts'
import { DeskError, reasonOf } from './fault.ts'
import type { Mail } from './mail.ts'
import { customerOf } from './memory.ts'
import type { Decision } from './options.ts'
import { remainingOf } from './order.ts'
import type { OpenSession } from './sessions.ts'
import { createTallier, type Tallier, type Tally } from './tally.ts'

/** Observes the desk's work. */
export interface Watcher {
  heading(mail: Mail): void
  event(event: AgentEvent): void
  broken(mail: string, reason: string): void
}

/** A mail that another process begins, and leaves in the middle. */
export interface Begun {
  readonly mail: string
  /** Handles the mail until the process is gone. */
  begin(): AsyncIterable<AgentEvent>
  /** Returns the open session once its lease is free. */
  open(sessionId: string): Promise<OpenSession>
}

/** Answers the questions of runs; absent where no person is at a terminal. */
export interface Answers {
  readonly onApproval?: OnApproval | undefined
  readonly onUncertain?: OnUncertain | undefined
}

/**
 * Handles mails in sequence, each in its own run and session: the text of one customer never enters the history of
 * another. A mail that cannot be read, or whose run fails, is counted, and the next one follows.
 */
export async function workThrough(
  names: readonly string[],
  agent: Agent<string, Desk>,
  desk: Desk,
  watcher: Watcher,
  signal: AbortSignal,
  { onApproval, onUncertain }: Answers = {},
  begun?: Begun,
): Promise<Tally> {
  const tallier = createTallier()
  for (const name of names) {
    if (signal.aborted) break
    try {
      const mail = await desk.mailbox.read(name)
      tallier.begin(mail)
      watcher.heading(mail)
      if (name === begun?.mail) {
        await takeOver(begun, tallier, watcher, signal)
        continue
      }
      const options = { context: desk, principal: customerOf(mail, desk), signal, onApproval }
      const stream = agent.stream(taskFor(name), options)
      await follow(stream, tallier, watcher)
      const { pending, sessionId } = await stream.result
      if (onUncertain && pending.uncertain.length > 0) {
        const session = await agent.resumeSession(sessionId, { context: desk, onApproval })
        await clearUp(session, onUncertain, (decisions) => resume(session, decisions, tallier, watcher, signal), desk)
      }
    } catch (error) {
      // A run reports its failures as events; only failures outside of runs are thrown.
      if (!(error instanceof DeskError) || error.kind !== 'mail') throw error
      tallier.fail(name, reasonOf(error))
      watcher.broken(name, reasonOf(error))
    }
  }
  return tallier.tally
}

/** Watches another process until it is gone, and resumes what it left. */
async function takeOver(
  { begin, open }: Begun,
  tallier: Tallier,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<void> {
  let left: string | undefined
  for await (const event of begin()) {
    tallier.add(event)
    watcher.event(event)
    if (event.parents.length > 0) continue
    if (event.type === 'agent.start') left = event.sessionId
    if (event.type === 'agent.end') left = undefined
  }
  if (left === undefined || signal.aborted) return
  const { session } = await open(left)
  await resume(session, {}, tallier, watcher, signal)
}

/**
 * Resumes a session from its log, whichever process started it.
 *
 * @param decision applied to everything that the session waits for.
 */
export async function goOn(
  { session, mail: name }: OpenSession,
  decision: Decision | undefined,
  desk: Desk,
  watcher: Watcher,
  signal: AbortSignal,
  onUncertain?: OnUncertain,
): Promise<Tally> {
  const tallier = createTallier()
  const mail = await desk.mailbox.read(name)
  tallier.begin(mail)
  watcher.heading(mail)
  const { approvals, uncertain } = session.pending
  const by = 'the command line'
  const isApproval = decision === 'approve' || decision === 'deny'
  const decisions = {
    approvals: isApproval ? approvals.map(({ id }) => ({ id, decision, by })) : [],
    uncertain: decision && !isApproval ? uncertain.map((call) => outcomeOf(call, decision === 'done', desk, by)) : [],
  }
  const answer = (given: Decisions): Promise<void> => resume(session, given, tallier, watcher, signal)
  await answer(decisions)
  if (onUncertain) await clearUp(session, onUncertain, answer, desk)
  return tallier.tally
}

/** Asks the person about calls of unknown outcome until one is left open, and resumes the session with the answers. */
async function clearUp(
  session: Session<string, Desk>,
  ask: OnUncertain,
  answer: (decisions: Decisions) => Promise<void>,
  desk: Desk,
): Promise<void> {
  while (session.pending.uncertain.length > 0) {
    const uncertain: UncertainDecision[] = []
    for (const call of session.pending.uncertain) {
      const done = await ask(call)
      if (done === undefined) return
      uncertain.push(outcomeOf(call, done, desk, 'the terminal'))
    }
    await answer({ uncertain })
  }
}

const refunded = z.object({ orderId: z.number() })

/** Returns the decision about a call of unknown outcome. The result of a refund that took place is in the books. */
function outcomeOf(
  { callId, input }: { readonly callId: string; readonly input: unknown },
  done: boolean,
  { orders }: Desk,
  by: string,
): UncertainDecision {
  if (!done) return { callId, decision: 'retry', by }
  const { data } = refunded.safeParse(input)
  const order = data && orders.orderById(data.orderId)
  const refund = order?.refunds.at(-1)
  const output = order && refund ? { ...refund, orderId: order.id, remaining: remainingOf(order) } : null
  return { callId, decision: 'done', output, by }
}

/** Resumes a session until it ends or waits. A session that waits is not aborted by Ctrl-C, so that its question stays. */
async function resume(
  session: Session<string, Desk>,
  decisions: Decisions,
  tallier: Tallier,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<void> {
  const abort = (): void => void session.abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await follow(session.resume(decisions), tallier, watcher)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function follow(stream: AgentStream, tallier: Tallier, watcher: Watcher): Promise<void> {
  for await (const event of stream) {
    tallier.add(event)
    watcher.event(event)
  }
}
