/** Options of a stream of server-sent events. */
export interface FrameStreamOptions {
  /** Milliseconds between heartbeats while no frame is sent. */
  readonly heartbeatMs: number
  /** Called once when the stream ends, for any reason. */
  closed(): void
  /** Called when reading fails: the stream ends without a last frame. */
  failed(thrown: unknown): void
}

const encoder = new TextEncoder()
/** Characters encoded at a time. A client that stops reading therefore holds only a few slices, even of a long frame. */
const sliceLength = 16_384

/**
 * Returns frames of server-sent events as the body of a response, with backpressure: the next batch is requested when the
 * previous one is sent, and a frame becomes text when its turn comes.
 */
export function frameStream(
  batches: AsyncGenerator<Iterable<string>, void, undefined>,
  { heartbeatMs, closed, failed }: FrameStreamOptions,
): ReadableStream<Uint8Array> {
  let texts: Iterator<string> | undefined
  /** Rest of the text that is being sent. */
  let rest = ''
  let ended = false
  let heart: NodeJS.Timeout | undefined

  function end(): void {
    ended = true
    clearInterval(heart)
    texts = undefined
    rest = ''
    closed()
  }

  function nextSlice(): string {
    let slice = ''
    while (slice.length < sliceLength) {
      if (rest === '') {
        const next = texts?.next()
        if (!next || next.done) {
          texts = undefined
          break
        }
        rest = next.value
      }
      const length = lengthWithin(rest, sliceLength - slice.length)
      slice += length < rest.length ? rest.slice(0, length) : rest
      rest = length < rest.length ? rest.slice(length) : ''
    }
    return slice
  }

  async function nextBytes(): Promise<Uint8Array | undefined> {
    for (;;) {
      const slice = nextSlice()
      if (slice !== '') return encoder.encode(slice)
      const next = await batches.next()
      if (next.done || ended) return undefined
      texts = next.value[Symbol.iterator]()
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        heart = setInterval(() => {
          const idle = rest === '' && !texts
          if (idle && (controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': still here\n\n'))
        }, heartbeatMs)
        heart.unref()
      },
      async pull(controller) {
        let bytes: Uint8Array | undefined
        try {
          bytes = await nextBytes()
        } catch (thrown) {
          if (!ended) failed(thrown)
        }
        if (ended) return
        if (bytes) controller.enqueue(bytes)
        else {
          end()
          controller.close()
        }
      },
      async cancel() {
        end()
        await batches.return()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: sliceLength }),
  )
}

/** Returns the length of text that fits without splitting a surrogate pair. */
function lengthWithin(text: string, most: number): number {
  if (text.length <= most) return text.length
  const last = text.charCodeAt(most - 1)
  return last >= 0xd8_00 && last <= 0xdb_ff ? most + 1 : most
}
