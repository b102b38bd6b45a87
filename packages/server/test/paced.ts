import { createAgent } from '@provost/agent'
import type { Server } from '@provost/server'
import { createServer } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'

/** A paced answer. */
interface Paced {
  readonly server: Server
  /** Tells how many deltas the reader has. */
  seen(deltas: number): void
}

/** A server whose model sends each delta when its reader has the one before. */
export function paced(words: readonly string[]): Paced {
  const model = scriptedModel([{ text: words }])
  const pace = { sent: 0, seen: 0, next: Promise.withResolvers<void>() }
  const store = memoryStore()
  const held: typeof model = {
    ...model,
    async doStream(options) {
      const answer = await model.doStream(options)
      type Part = typeof answer.stream extends ReadableStream<infer P> ? P : never
      const paces = new TransformStream<Part, Part>({
        async transform(part, controller) {
          while (part.type === 'text-delta' && pace.sent > pace.seen) await pace.next.promise
          if (part.type === 'text-delta') pace.sent++
          controller.enqueue(part)
        },
      })
      return { ...answer, stream: answer.stream.pipeThrough(paces) }
    },
  }
  const agent = createAgent({ name: 'desk', store, model: held })
  return {
    server: createServer({ agents: [agent], store }),
    seen(count) {
      pace.seen = count
      pace.next.resolve()
      pace.next = Promise.withResolvers()
    },
  }
}

/**
 * Reads a paced answer as it arrives.
 *
 * @param delta what each delta has once in its frame.
 */
export async function readPaced(
  { server, seen }: Paced,
  response: Response,
  delta = /event: text\.delta\n/gu,
): Promise<{ readonly text: string; readonly deltas: number }> {
  const decoder = new TextDecoder()
  let text = ''
  let deltas = 0
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    deltas = [...text.matchAll(delta)].length
    seen(deltas)
  }
  await server.close()
  return { text, deltas }
}
