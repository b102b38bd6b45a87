import { createHash } from 'node:crypto'

import type { Json } from '@provost/core'

import type { ResponseItem } from './response-resource.ts'

/** An event of a response, without its number. */
export type ResponseFrame = { readonly type: string } & { readonly [key: string]: Json }

/** A text or a reasoning that an answer is writing. */
interface Block {
  readonly kind: 'text' | 'reasoning'
  readonly itemId: string
  readonly index: number
  readonly text: string
  readonly annotations: readonly Json[]
  readonly done: boolean
}

/** The output of a response, item by item. Every item is announced, written and done, in the order of the events. */
export interface ResponseItems {
  /** Items of the final answer: without those of attempts that failed. */
  readonly output: readonly ResponseItem[]
  /** Adds an item that is complete. */
  whole(item: ResponseItem): readonly ResponseFrame[]
  begin(item: ResponseItem): readonly ResponseFrame[]
  /** Replaces an item that was begun. */
  end(item: ResponseItem, between?: readonly ResponseFrame[]): readonly ResponseFrame[]
  /** Returns the fields that name an item in its events. */
  placeOf(itemId: string): { readonly item_id: string; readonly output_index: number }
  open(answer: string, kind: Block['kind'], part: string): readonly ResponseFrame[]
  write(answer: string, kind: Block['kind'], part: string, delta: string): readonly ResponseFrame[]
  /** @param text the whole text; what the deltas lacked is sent first. */
  close(answer: string, kind: Block['kind'], part: string, text: string): readonly ResponseFrame[]
  /** Adds the texts of a finished answer that were not streamed. */
  rest(
    answer: string,
    texts: readonly { readonly kind: Block['kind']; readonly text: string }[],
  ): readonly ResponseFrame[]
  /** Ends the texts of an attempt that failed, and takes them out of the output. */
  discard(answer: string): readonly ResponseFrame[]
  /** Ends what a response that ends has left open. */
  closeAll(): readonly ResponseFrame[]
  /** Adds a source to the text that an answer is writing. @returns undefined if it writes none. */
  annotate(answer: string, annotation: Json): readonly ResponseFrame[] | undefined
}

export function createResponseItems(): ResponseItems {
  const items: { item: ResponseItem; discarded: boolean }[] = []
  const indexes = new Map<string, number>()
  /** The texts of each answer, by kind and part. */
  const answers = new Map<string, Map<string, Block>>()

  const placeOf = (itemId: string): { item_id: string; output_index: number } => ({
    item_id: itemId,
    output_index: indexes.get(itemId) ?? 0,
  })

  function begin(item: ResponseItem): readonly ResponseFrame[] {
    const index = items.push({ item, discarded: false }) - 1
    indexes.set(item.id, index)
    return [{ type: 'response.output_item.added', output_index: index, item }]
  }

  function end(item: ResponseItem, between: readonly ResponseFrame[] = []): readonly ResponseFrame[] {
    const index = indexes.get(item.id)
    const held = index === undefined ? undefined : items[index]
    if (held) held.item = item
    return [...between, { type: 'response.output_item.done', output_index: index ?? 0, item }]
  }

  function blockOf(answer: string, kind: Block['kind'], part: string): Block | undefined {
    return answers.get(answer)?.get(`${kind}/${part}`)
  }

  function keep(answer: string, part: string, block: Block): void {
    const blocks = answers.get(answer) ?? new Map<string, Block>()
    answers.set(answer, blocks.set(`${block.kind}/${part}`, block))
  }

  /** An answer that is written anew has items of its own. */
  function freeId(id: string): string {
    for (let n = 1; ; n++) {
      const free = n === 1 ? id : `${id}_${n}`
      if (!indexes.has(free)) return free
    }
  }

  function open(answer: string, kind: Block['kind'], part: string): readonly ResponseFrame[] {
    const index = [...(answers.get(answer)?.values() ?? [])].filter((one) => one.kind === kind).length
    const itemId = freeId(`${kind === 'text' ? 'msg' : 'rs'}_${digest(answer)}${index}`)
    keep(answer, part, { kind, itemId, index, text: '', annotations: [], done: false })
    const place = (): ReturnType<typeof placeOf> => placeOf(itemId)
    if (kind === 'text') {
      const added = begin({ id: itemId, type: 'message', role: 'assistant', status: 'in_progress', content: [] })
      return [...added, { type: 'response.content_part.added', ...place(), content_index: 0, part: textPart('', []) }]
    }
    const added = begin({ id: itemId, type: 'reasoning', summary: [] })
    const summary = { type: 'summary_text', text: '' }
    return [...added, { type: 'response.reasoning_summary_part.added', ...place(), summary_index: 0, part: summary }]
  }

  function write(answer: string, kind: Block['kind'], part: string, delta: string): readonly ResponseFrame[] {
    const opened = blockOf(answer, kind, part) ? [] : open(answer, kind, part)
    const block = blockOf(answer, kind, part)
    if (!block || block.done) return opened
    keep(answer, part, { ...block, text: block.text + delta })
    const place = placeOf(block.itemId)
    return [
      ...opened,
      kind === 'text'
        ? { type: 'response.output_text.delta', ...place, content_index: 0, delta, logprobs: [] }
        : { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta },
    ]
  }

  function finish(answer: string, part: string, block: Block, status: string): readonly ResponseFrame[] {
    const { kind, itemId, text, annotations } = block
    keep(answer, part, { ...block, done: true })
    const place = placeOf(itemId)
    if (kind === 'text') {
      const whole = textPart(text, annotations)
      return end({ id: itemId, type: 'message', role: 'assistant', status, content: [whole] }, [
        { type: 'response.output_text.done', ...place, content_index: 0, text, logprobs: [] },
        { type: 'response.content_part.done', ...place, content_index: 0, part: whole },
      ])
    }
    const whole = { type: 'summary_text', text }
    return end({ id: itemId, type: 'reasoning', summary: [whole] }, [
      { type: 'response.reasoning_summary_text.done', ...place, summary_index: 0, text },
      { type: 'response.reasoning_summary_part.done', ...place, summary_index: 0, part: whole },
    ])
  }

  function close(answer: string, kind: Block['kind'], part: string, text: string): readonly ResponseFrame[] {
    const before = blockOf(answer, kind, part)
    if (before?.done) return []
    const had = before?.text ?? ''
    const lacked =
      text.startsWith(had) && text.length > had.length ? write(answer, kind, part, text.slice(had.length)) : []
    const block = blockOf(answer, kind, part)
    return block ? [...lacked, ...finish(answer, part, { ...block, text }, 'completed')] : lacked
  }

  function openOf(answer: string): readonly (readonly [string, Block])[] {
    const blocks = [...(answers.get(answer) ?? [])]
    return blocks.flatMap(([key, block]) => (block.done ? [] : [[key.slice(key.indexOf('/') + 1), block] as const]))
  }

  return {
    get output() {
      return items.flatMap(({ item, discarded }) => (discarded ? [] : [item]))
    },
    whole: (item) => [...begin(item), ...end(item)],
    begin,
    end,
    placeOf,
    open,
    write,
    close,
    rest(answer, texts) {
      const counts = { text: 0, reasoning: 0 }
      const frames: ResponseFrame[] = []
      for (const { kind, text } of texts) {
        const n = counts[kind]++
        const [part] = [...(answers.get(answer) ?? [])].flatMap(([key, block]) =>
          block.kind === kind && block.index === n ? [key.slice(key.indexOf('/') + 1)] : [],
        )
        frames.push(...close(answer, kind, part ?? `rest-${n}`, text))
      }
      for (const [part, block] of openOf(answer)) frames.push(...finish(answer, part, block, 'completed'))
      answers.delete(answer)
      return frames
    },
    discard(answer) {
      const frames = openOf(answer).flatMap(([part, block]) => finish(answer, part, block, 'incomplete'))
      for (const { itemId } of answers.get(answer)?.values() ?? []) {
        const held = items[indexes.get(itemId) ?? -1]
        if (held) held.discarded = true
      }
      answers.delete(answer)
      return frames
    },
    closeAll() {
      return [...answers.keys()].flatMap((answer) =>
        openOf(answer).flatMap(([part, block]) => finish(answer, part, block, 'incomplete')),
      )
    },
    annotate(answer, annotation) {
      const [last] = openOf(answer).filter(([, { kind }]) => kind === 'text')
      if (!last) return undefined
      const [part, block] = last
      keep(answer, part, { ...block, annotations: [...block.annotations, annotation] })
      const annotationIndex = block.annotations.length
      return [
        {
          type: 'response.output_text.annotation.added',
          ...placeOf(block.itemId),
          content_index: 0,
          annotation_index: annotationIndex,
          annotation,
        },
      ]
    },
  }
}

function textPart(text: string, annotations: readonly Json[]): Json {
  return { type: 'output_text', text, annotations: [...annotations], logprobs: [] }
}

/** A short name: each delta repeats it. */
function digest(answer: string): string {
  return createHash('sha256').update(answer).digest('hex').slice(0, 12)
}
