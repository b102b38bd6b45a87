/** How frames of server-sent events are sent. */
export interface FrameStreamOptions {
  /** Milliseconds between signs of life while nothing comes. */
  readonly heartbeatMs: number
  /** The stream is over, in whatever way. */
  closed(): void
  /** It could not be gone on with: it ends where it is. */
  failed(thrown: unknown): void
}

const encoder = new TextEncoder()
/** Characters that are encoded at a time: of one who does not read, a few times that waits and no more, however long a frame is. */
const sliceLength = 16_384

/**
 * Frames of server-sent events as the body of a response. It is read as fast as the client reads: a batch of frames is asked for
 * when the one before it is sent, and a frame is made into text when its turn comes.
 */
export function frameStream(
  batches: AsyncGenerator<Iterable<string>, void, undefined>,
  { heartbeatMs, closed, failed }: FrameStreamOptions,
): ReadableStream<Uint8Array> {
  let texts: Iterator<string> | undefined
  /** What is left of the text on its way. */
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

/** As much of a text as fits, without half of a character that takes two. */
function lengthWithin(text: string, most: number): number {
  if (text.length <= most) return text.length
  const last = text.charCodeAt(most - 1)
  return last >= 0xd8_00 && last <= 0xdb_ff ? most + 1 : most
}
