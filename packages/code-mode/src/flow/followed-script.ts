import { GuestSyntaxError } from '../engine/engine.ts'
import { inScript, withoutTypes, wrappedScript } from '../engine/script-source.ts'
import type { PlaceRow } from './rewrite-context.ts'
import type { RewrittenScript } from './rewrite-script.ts'
import { rewriteScript } from './rewrite-script.ts'

/**
 * Passes a script whose values are followed to `start`. Throws {@link GuestSyntaxError} with the position in the script.
 *
 * @param acting names of the tools that act on the world.
 * @returns a function that converts positions in a text of the engine to those of the script.
 */
export function startFollowed(
  source: string,
  acting: readonly string[],
  start: (js: string) => void,
): (text: string) => string {
  const tools = new Set(acting)
  const wrapped = wrappedScript(source)
  const rewritten = inScript((): RewrittenScript => {
    const rewrite = (js: string) => rewriteScript(js, (name) => tools.has(name))
    try {
      return rewrite(wrapped)
    } catch (error) {
      if (!(error instanceof GuestSyntaxError)) throw error
      const js = withoutTypes(wrapped)
      if (js === wrapped) throw error
      return rewrite(js)
    }
  })
  start(rewritten.code)
  return placesOf(rewritten.places)
}

/** Returns a function that converts the positions of a text, such as a stack trace. */
export function placesOf(rows: readonly PlaceRow[]): (text: string) => string {
  if (rows.length === 0) return (text) => text
  const own = (line: number, column: number): string => {
    let best: PlaceRow | undefined
    for (const row of rows) {
      if (row[0] > line || (row[0] === line && row[1] > column)) break
      best = row
    }
    return best === undefined ? `script.ts:${line}:${column}` : `script.ts:${best[2]}:${best[3]}`
  }
  return (text) => {
    if (!/^\[[^\n]*"thrown"/.test(text)) return text
    return text.replaceAll(/script\.ts:(\d{1,7}):(\d{1,7})/g, (_, line, column) => own(Number(line), Number(column)))
  }
}
