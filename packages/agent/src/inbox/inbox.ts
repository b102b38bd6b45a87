import type { Delivery, Json, Scrubber, SessionStore } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

import { inputIn, modeOf, sendToken } from '../messages/child-message.ts'
import type { Inbox, InboxInput, InboxReader, SentInput } from '../types/inputs.ts'
import type { AbortOptions, SendMode } from '../types/stream.ts'
import { abortOptions, abortToken } from './abort-delivery.ts'
import { notify } from './pending-inputs.ts'

/** The parameters of an inbox. */
export interface InboxOptions {
  readonly store: SessionStore
  readonly log: string
  readonly scrubber: Scrubber
  /** The sender recorded with what is sent here. */
  readonly by: string
  readonly isShared: boolean
  /** Whether the log records an item as taken. */
  isTaken(token: string): boolean
}

/** Opens the inbox of a log. Nothing is read before a run asks. */
export function openInbox(options: InboxOptions): Inbox {
  const { store, log, scrubber, isTaken } = options
  const inputs = { steer: new Map<string, InboxInput>(), queue: new Map<string, InboxInput>() }
  const answers = new Map<string, Delivery>()
  /** Aborts by token, until a log records them as taken. */
  const aborts = new Map<string, { readonly runId: unknown; readonly options: AbortOptions }>()
  /** What only the sender in this process knows of an input, until it is read. */
  const terms = new Map<string, Pick<SentInput, 'signal' | 'atRest'>>()
  let steersOnTheirWay = 0
  let after = ''
  let position = 0
  let reader: InboxReader | undefined
  /** Something was sent here that no run has read. */
  let isBehind = false
  let sending: Promise<void> | undefined
  let reading: Promise<void> | undefined
  let next: Promise<void> | undefined

  function unread(mode: SendMode): Iterable<InboxInput> {
    const all = inputs[mode]
    for (const token of all.keys()) {
      if (!isTaken(token)) break
      all.delete(token)
    }
    return all.values()
  }

  function has(mode: SendMode): boolean {
    unread(mode)
    return inputs[mode].size > 0
  }

  /** @param before id of the delivery before it. */
  function take(delivery: Delivery, before: string): void {
    const { token, value } = delivery
    const { signal, atRest = false } = terms.get(token) ?? {}
    terms.delete(token)
    // The log records this delivery as taken, by this process or an earlier one.
    if (isTaken(token)) return
    if (token.startsWith(sendToken)) {
      const { input, mode: wanted, to, data }: Record<string, unknown> = isRecord(value) ? value : {}
      // Input that was sent between runs does not overtake the queue that an earlier run left.
      const mode = atRest && has('queue') ? 'queue' : modeOf(wanted)
      inputs[mode].set(token, {
        input: inputIn(input),
        token,
        mode,
        position: position++,
        after: before,
        by: delivery.by,
        signal,
        ...(to !== undefined && { to: typeof to === 'string' ? to : JSON.stringify(to) }),
        ...(data !== undefined && { data: toJson(data) }),
      })
      if (reader) notify(reader.pendingInputs)
    } else if (token.startsWith(abortToken)) {
      const { runId, options: how }: Record<string, unknown> = isRecord(value) ? value : {}
      if (reader && runId !== reader.runId) return
      // Also where a run takes it: it may end before its log records that.
      aborts.set(token, { runId, options: abortOptions(how) })
      reader?.abort(token, abortOptions(how))
    } else answer(delivery)
  }

  /** Hands the run the aborts that came before it. */
  function deliverAborts(own: InboxReader): void {
    for (const [token, { runId, options: how }] of aborts) {
      if (isTaken(token) || runId !== own.runId) aborts.delete(token)
      else own.abort(token, how)
    }
  }

  function firstUntaken(): InboxInput | undefined {
    const [steer] = unread('steer')
    const [queued] = unread('queue')
    return steer && queued && queued.position < steer.position ? queued : (steer ?? queued)
  }

  function answer(delivery: Delivery): void {
    answers.set(delivery.token, delivery)
    if (reader) notify(reader.pendingInputs)
  }

  async function read(): Promise<void> {
    for await (const delivery of store.inbox(log, after)) {
      const before = after
      after = delivery.id
      take(delivery, before)
    }
  }

  function begin(): Promise<void> {
    const done = read().finally(() => (reading = undefined))
    reading = done
    return done
  }

  function sync(): Promise<void> {
    if (!reading) return begin()
    // The current read may miss a later delivery. Callers that arrive meanwhile share the next read.
    next ??= reading.then(
      () => ((next = undefined), begin()),
      () => ((next = undefined), begin()),
    )
    return next
  }

  async function arrived(): Promise<void> {
    isBehind = true
    await readFor(reader)
  }

  /** Reads what was sent here, if a run is there to take it. */
  async function readFor(own: InboxReader | undefined): Promise<void> {
    if (!own || !isBehind) return
    isBehind = false
    await sync().catch(own.failed)
  }

  function put(token: string, value: Json, by = options.by): Promise<'accepted' | 'duplicate'> {
    const deliver = (): Promise<'accepted' | 'duplicate'> => store.deliver(log, token, value, by)
    // One after the other, so that the store has them in their order.
    const work = sending ? sending.then(deliver) : deliver()
    const settled = work.then(arrived, () => {})
    sending = settled
    void settled.then(() => {
      if (sending === settled) sending = undefined
    })
    return work
  }

  return {
    isShared: options.isShared,
    answers,
    // Not getters: V8 makes an object with a getter old at once, with all that its functions see.
    lastRead: () => after,
    lastTaken: () => firstUntaken()?.after ?? after,
    hasAbort(runId) {
      return [...aborts].some(([token, abort]) => abort.runId === runId && !isTaken(token))
    },
    unread,
    has: (mode) => has(mode) || (mode === 'steer' && steersOnTheirWay > 0),
    answer,
    put,
    send(token, { input, mode, data, signal, atRest }) {
      if (signal || atRest) terms.set(token, { signal, ...(atRest && { atRest }) })
      const work = put(token, scrubber.tokenise(toJson({ mode, input, data })))
      if (mode === 'steer') {
        steersOnTheirWay++
        void sending?.then(() => steersOnTheirWay--)
      }
      return work
    },
    sync,
    arriving() {
      const reads = next ?? reading
      return sending || reads ? Promise.all([sending, reads]).catch(() => {}) : undefined
    },
    serve(own) {
      reader = own
      const stop = new AbortController()
      const following = async (): Promise<void> => {
        for await (const _ of store.watch(log, stop.signal, 'inbox')) await sync()
      }
      if (options.isShared) {
        following().catch((thrown: unknown) => {
          if (!stop.signal.aborted) own.failed(thrown)
        })
      }
      deliverAborts(own)
      void readFor(own)
      return () => {
        if (reader === own) reader = undefined
        // An explicit reason: the default creates an error with a stack for each run.
        stop.abort('the run is over')
      }
    },
  }
}
