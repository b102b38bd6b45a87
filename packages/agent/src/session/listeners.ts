import { AsyncLocalStorage } from 'node:async_hooks'

import type { AgentEvent, EventType, Extension, HookContext, JsonObject, Scrubber, ToolCall } from '@provost/core'
import { ProvostError, defineExtension, isEventType, isPromise, isRecord } from '@provost/core'

import { effectiveArgs, movedFrom } from '../tools/judge-call.ts'
import type { SessionListeners } from '../types/session.ts'

/** The listeners of a session, and the extensions that connect them to its runs through the public hooks. */
export interface Listeners {
  /** Passes events of the runs to listeners. */
  readonly observer: Extension
  /** Lets `tool.call` listeners decide on calls of the runs and of their children. */
  readonly judge: Extension
  add<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): void
  remove<K extends keyof SessionListeners>(type: K, listener: SessionListeners[K]): void
  /** Whether there are event listeners. */
  hasListener(): boolean
  /** Whether there are `tool.call` listeners. */
  isJudging(): boolean
  /** Resolves when listeners have handled the questions of the run. Undefined if none is busy, and inside a listener. */
  answering(): Promise<unknown> | undefined
}

type EventName = EventType | '*'
interface Subscription {
  readonly type: EventName
  readonly listener: unknown
  receive(event: AgentEvent): unknown
}
interface Answering {
  readonly listener: SessionListeners['tool.call']
}

/** Creates an empty set of listeners. */
export function createListeners(scrubber: Scrubber): Listeners {
  // Replaced on each change, so that a dispatch in progress keeps its listeners.
  let hearing: readonly Subscription[] = []
  let asked: readonly Answering[] = []
  const busy = new Set<Promise<unknown>>()
  const within = new AsyncLocalStorage<true>()

  function hear(one: Subscription, event: AgentEvent, ctx: HookContext): void {
    const failed = (thrown: unknown): void => ctx.report(thrown, one.type)
    try {
      const answer = questions.has(event.type) ? within.run(true, () => one.receive(event)) : one.receive(event)
      if (!isPromise(answer)) return
      const done = Promise.resolve(answer).catch(failed)
      if (!questions.has(event.type)) return
      busy.add(done)
      void done.then(() => busy.delete(done))
    } catch (thrown) {
      failed(thrown)
    }
  }

  const observer = defineExtension({
    name: 'session',
    hooks: {
      event(event, ctx) {
        for (const one of hearing) if (one.type === '*' || one.type === event.type) hear(one, event, ctx)
      },
    },
  })

  const judge = defineExtension({
    name: 'session',
    scope: 'tree',
    hooks: {
      async 'tool.call'(call, ctx) {
        const listeners = asked
        const received: JsonObject[] = []
        let args = call.input
        try {
          for (const { listener } of listeners) {
            received.push(args)
            const answer = await answerOf(listener, args === call.input ? call : { ...call, input: args })
            if (answer && 'deny' in answer) return answer
            if (answer && !ctx.final) args = effectiveArgs(scrubber, answer.args)
          }
          if (args === call.input) return undefined
          const moved = movedFrom(received, args)
          for (const { listener } of listeners.filter((_, index) => moved(index))) {
            const answer = await answerOf(listener, { ...call, input: args })
            if (answer && 'deny' in answer) return answer
          }
          return { args }
        } catch (thrown) {
          ctx.report(thrown, 'tool.call')
          return { deny: 'A tool.call listener of the session failed.' }
        }
      },
    },
  })

  return {
    observer,
    judge,
    add(type, listener) {
      if (typeof listener !== 'function') throw notAListener(type)
      if (isToolCall(type, listener)) asked = [...asked, { listener }]
      else if (isEventName(type)) hearing = [...hearing, hearingOf(type, listener)]
      else throw unknownEvent(type)
    },
    remove(type, listener) {
      if (type === 'tool.call') asked = without(asked, (one) => one.listener === listener)
      else hearing = without(hearing, (one) => one.type === type && one.listener === listener)
    },
    hasListener: () => hearing.length > 0,
    isJudging: () => asked.length > 0,
    answering() {
      return busy.size === 0 || within.getStore() ? undefined : Promise.all(busy)
    },
  }
}

/** Events that a listener may answer with `session.resolve`. */
const questions: ReadonlySet<EventName> = new Set<EventName>([
  'tool.approval.requested',
  'tool.remote.requested',
  'tool.uncertain',
  'input.requested',
])

function hearingOf(type: EventName, listener: SessionListeners[keyof SessionListeners]): Subscription {
  let seq = 0
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it gets events of the type it was registered for only
  const call = listener as (event: AgentEvent) => unknown
  return {
    type,
    listener,
    receive(event) {
      seq++
      return call(event.seq === seq ? event : Object.freeze({ ...event, seq }))
    },
  }
}

function isToolCall(type: string, _listener: unknown): _listener is SessionListeners['tool.call'] {
  return type === 'tool.call'
}

function isEventName(type: string): type is EventName {
  return type === '*' || isEventType(type)
}

type CallVerdict = { readonly deny: string } | { readonly args: unknown }

/** Returns the answer of a listener, or undefined where it allows the call. */
async function answerOf(
  listener: SessionListeners['tool.call'],
  call: ToolCall<JsonObject>,
): Promise<CallVerdict | undefined> {
  const answer: unknown = await listener(call)
  if (answer === undefined || answer === null) return undefined
  if (isVerdict(answer)) return answer
  throw new ProvostError('invalid-answer', 'A tool.call listener returned an invalid answer.', {
    hint: 'Return { deny } or { args }, or undefined to allow the call.',
  })
}

function isVerdict(answer: unknown): answer is CallVerdict {
  return isRecord(answer) && (typeof answer['deny'] === 'string' || 'args' in answer)
}

/** Returns the list without one match. A listener that was added twice has to be removed twice. */
function without<T>(list: readonly T[], is: (one: T) => boolean): readonly T[] {
  const index = list.findIndex(is)
  return index < 0 ? list : list.toSpliced(index, 1)
}

function unknownEvent(type: string): ProvostError {
  return new ProvostError('unknown-event', `Unknown event ${JSON.stringify(type)} in session.on.`, {
    hint: "Listen to a type of AgentEvent, to '*' for all of them, or to 'tool.call' to judge calls.",
  })
}

function notAListener(type: string): ProvostError {
  return new ProvostError('invalid-option', `The listener for ${JSON.stringify(type)} is not a function.`, {
    hint: 'Pass a function that takes the event.',
  })
}
