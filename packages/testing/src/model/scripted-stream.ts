import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

import { cutAfter, isChunk, streamPartsOf } from './scripted-step.ts'
import type { ScriptedStep } from './scripted-step.ts'

/** How a stream ends after its parts. */
type Ending =
  | { readonly kind: 'close' }
  | { readonly kind: 'stall' }
  | { readonly kind: 'fail'; readonly error: unknown }

type Controller = ReadableStreamDefaultController<LanguageModelV4StreamPart>

/** The error of undici's fetch when the server closes the connection within the body. */
export function hangUp(): TypeError {
  const cause = Object.assign(new Error('other side closed'), { name: 'SocketError', code: 'UND_ERR_SOCKET' })
  return new TypeError('terminated', { cause })
}

/** Resolves after `ms`; rejects with the signal's reason on an abort. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    function stop(): void {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

function endingOf(step: ScriptedStep): Ending {
  if (step.stall) return { kind: 'stall' }
  if (step.failAfterChunks === undefined) return { kind: 'close' }
  return { kind: 'fail', error: step.error ?? hangUp() }
}

function end(controller: Controller, ending: Ending): void {
  if (ending.kind === 'close') controller.close()
  if (ending.kind === 'fail') controller.error(ending.error)
}

/** Sends all parts at once, which is the cheapest stream. */
function atOnce(
  parts: readonly LanguageModelV4StreamPart[],
  ending: Ending,
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      if (ending.kind === 'close') controller.close()
    },
    // An error discards queued parts, so that it waits until all of them are read.
    pull(controller) {
      end(controller, ending)
    },
  })
}

function paced(
  parts: readonly LanguageModelV4StreamPart[],
  ending: Ending,
  delayMs: number,
  abortSignal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const cancelled = new AbortController()
  const signal = abortSignal ? AbortSignal.any([abortSignal, cancelled.signal]) : cancelled.signal
  const silent = !parts.some(isChunk)
  let next = 0
  return new ReadableStream({
    async pull(controller) {
      const part = parts[next++]
      if (part === undefined) return end(controller, ending)
      if (isChunk(part) || (silent && part.type === 'finish')) await wait(delayMs, signal)
      controller.enqueue(part)
    },
    cancel() {
      cancelled.abort()
    },
  })
}

export function streamOf(
  step: ScriptedStep,
  index: number,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const ending = endingOf(step)
  const whole = streamPartsOf(step, index)
  const parts = ending.kind === 'close' ? whole : cutAfter(whole, step.failAfterChunks ?? Infinity)
  return step.delayMs ? paced(parts, ending, step.delayMs, signal) : atOnce(parts, ending)
}
