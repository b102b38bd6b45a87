import { isRecord } from '@provost/core'
import type { EntriesAnswer } from '@provost/server/console'
import { queryOptions } from '@tanstack/react-query'

import type { ShownLabel } from '../look/label-chips.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { labelIn, textOf } from '../wire/read-json.ts'
import type { Source } from './evidence.ts'

/** The text around the values of a source. */
export interface SourceText {
  readonly log: string
  readonly text: string
  /** Place of `text` in the whole text. */
  readonly start: number
  readonly isWhole: boolean
  readonly label: ShownLabel | undefined
  readonly agent: string
  readonly step: number
}

/** Characters around the values. */
const around = 320

/** Reads the text of a source from the entry that the evidence names; null if the entry does not have it. */
export const sourceQuery = (sessionId: string, source: Source) =>
  queryOptions({
    queryKey: ['source', sessionId, source.run, source.entry, source.pointer] as const,
    queryFn: async ({ signal }): Promise<SourceText | null> => {
      const log = await logOf(sessionId, source.run)
      const range = { log, from: source.offset, to: source.offset }
      const { entries, cut } = await consoleApi.entries(sessionId, range, signal)
      const [entry] = entries
      if (!entry || entry['id'] !== source.entry) return null
      const [first, last] = [
        Math.min(...source.hits.map(({ from }) => from.start)),
        Math.max(...source.hits.map(({ from }) => from.end)),
      ]
      const place = { log, agent: textOf(entry['agent']), step: Number(entry['step'] ?? 0) }
      for (const candidate of textsOf(entry, source.pointer)) {
        const start = Math.max(0, first - around)
        const end = last + around
        const isCut = cut.some(({ pointer }) => pointer === candidate.pointer)
        if (candidate.text.length >= last) {
          const text = candidate.text.slice(start, end)
          return {
            ...place,
            text,
            start,
            isWhole: !isCut && start === 0 && end >= candidate.text.length,
            label: candidate.label,
          }
        }
        if (!isCut) continue
        const query = { log, offset: source.offset, pointer: candidate.pointer, start, end }
        const piece = await consoleApi.text(sessionId, query, signal)
        return { ...place, text: piece.text, start: piece.start, isWhole: false, label: candidate.label }
      }
      return null
    },
  })

/** Returns the log of a run. The log of a child is named after the run's id. */
async function logOf(sessionId: string, run: string): Promise<string> {
  if (!run.includes('/')) return sessionId
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(run)))
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${sessionId}/child/${hex.slice(0, 32)}`
}

interface Candidate {
  readonly text: string
  /** Of the text in the entry. */
  readonly pointer: string
  readonly label: ShownLabel | undefined
}

/** Returns the texts of an entry that a pointer into an output may mean. */
function textsOf(entry: EntriesAnswer['entries'][number], pointer: string): readonly Candidate[] {
  const own = labelIn(entry['label'])
  if (entry.type === 'call') return outputTexts(entry['output'], '/output', pointer, own)
  const { message } = entry
  if (!isRecord(message) || !Array.isArray(message['content'])) return []
  const label = labelIn(message['label']) ?? own
  return message['content'].flatMap((part: unknown, at): readonly Candidate[] => {
    if (!isRecord(part)) return []
    const base = `/message/content/${at}`
    if (part['type'] === 'text' && pointer === '') return candidateOf(part['text'], `${base}/text`, label)
    return part['type'] === 'tool-result'
      ? outputTexts(part['output'], `${base}/output`, pointer, labelIn(part['label']) ?? label)
      : []
  })
}

function outputTexts(
  output: unknown,
  base: string,
  pointer: string,
  label: ShownLabel | undefined,
): readonly Candidate[] {
  if (!isRecord(output)) return []
  const { value, reason } = output
  if (typeof value === 'string') {
    // A text that is JSON was read as JSON.
    return pointer === ''
      ? candidateOf(value, `${base}/value`, label)
      : candidateOf(valueAt(parsed(value), pointer), '', label)
  }
  if (output['type'] === 'content' && Array.isArray(value)) {
    const [, index = '', rest = ''] = /^\/(\d+)(.*)$/u.exec(pointer) ?? []
    const part: unknown = value[Number(index)]
    const text = isRecord(part) ? part['text'] : undefined
    if (typeof text !== 'string') return []
    return rest === ''
      ? candidateOf(text, `${base}/value/${index}/text`, label)
      : candidateOf(valueAt(parsed(text), rest), '', label)
  }
  if (value === undefined) return candidateOf(reason, `${base}/reason`, label)
  return candidateOf(valueAt(value, pointer), `${base}/value${pointer}`, label)
}

function candidateOf(value: unknown, pointer: string, label: ShownLabel | undefined): readonly Candidate[] {
  if (typeof value === 'number') return [{ text: String(value), pointer, label }]
  return typeof value === 'string' ? [{ text: value, pointer, label }] : []
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value
  for (const step of pointer === '' ? [] : pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) at = at[Number(key)]
    else at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}
