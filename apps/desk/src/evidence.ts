import type { Json, ToolOutput } from 'provost'
import { z } from 'provost'

import { oneLine, type Palette } from './terminal.ts'

/** What a policy states of the values that it judged. */
const judged = z.object({
  evidence: z.object({
    values: z.array(
      z.object({
        argument: z.string(),
        role: z.string(),
        hits: z.array(
          z.object({
            from: z.object({
              source: z.string(),
              entry: z.string(),
              pointer: z.string(),
              start: z.number(),
              end: z.number(),
            }),
            path: z.array(z.object({ agent: z.string() })),
          }),
        ),
      }),
    ),
  }),
})

/** Characters that are shown before and after the value in its source. */
const around = 44
/** Text is no destination, selector or amount: words of a source in it are no surprise. */
const isText = (role: string): boolean => role === 'content'

/**
 * Draws where the values of a stopped or questioned call came from: the words around each value in its source, and the
 * agents between the source and the call.
 *
 * @param evidence of a `governance.*` event.
 * @param outputs what tools returned, by the id of the entry that has it.
 */
export function evidenceLines(
  evidence: Json,
  outputs: ReadonlyMap<string, ToolOutput>,
  { dim, red }: Pick<Palette, 'dim' | 'red'>,
): readonly string[] {
  const { data } = judged.safeParse(evidence)
  return (data?.evidence.values ?? []).flatMap(({ argument, role, hits }) => {
    const [hit] = hits
    const text = hit && textAt(outputs.get(hit.from.entry), hit.from.pointer)
    if (!hit || text === undefined || isText(role)) return []
    const { start, end, source, pointer } = hit.from
    const before = visible(text.slice(Math.max(0, start - around * 3), start))
    const after = visible(text.slice(end, end + around * 3))
    const words = `${before.slice(-around)}${red(oneLine(text.slice(start, end), 80))}${after.slice(0, around)}`
    const hidden = text.length - withoutInvisible(text).length
    const place = `${oneLine(source, 80)}${pointer === '' ? '' : `, ${oneLine(pointer.slice(1), 40)}`}`
    const notes = hidden === 0 ? '' : `, in words with ${hidden} invisible characters`
    const way = hit.path.map(({ agent }) => oneLine(agent, 40)).join(' ⇒ ')
    return [`${dim(oneLine(argument, 40))} ← “…${words}…”`, dim(`${place}${notes}; ${way} ⇒ call`)]
  })
}

function withoutInvisible(text: string): string {
  return text.replace(/\p{Cf}/gu, '')
}

/** Returns words of a source on one line. What a reader of it would not see is left out. */
function visible(text: string): string {
  const line = oneLine(`|${withoutInvisible(text)}|`, text.length + 2)
  return line.slice(1, -1)
}

/** Returns the text at a JSON pointer into what a tool returned. */
function textAt(output: ToolOutput | undefined, pointer: string): string | undefined {
  let at: unknown = output && 'value' in output ? output.value : undefined
  for (const key of pointer.split('/').slice(1)) {
    if (typeof at !== 'object' || at === null) return undefined
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    at = Object.entries(at).find(([one]) => one === name)?.[1]
  }
  return typeof at === 'string' ? at : undefined
}
