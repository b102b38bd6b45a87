import type { HookContext, ToolResult } from '@provost/core'
import { toJson } from '@provost/core'

import { cutTail, roomIn } from './cut.ts'
import { newHandle, spilledResults, spillKey } from './handle.ts'
import type { SpilledResult } from './handle.ts'
import { headLength } from './measure.ts'
import { countLines, maxSliceBytes } from './slice.ts'

/** The longest text that is kept, in bytes of UTF-8. */
export const maxSpillBytes: number = 64 * 1024 * 1024
/** About how many tokens of a spilled result the model sees at once. */
const previewTokens = 1024
/** Characters of a text that may be in the log of a store that does not outlive its process. */
const maxTravelling = 1024 * 1024

/**
 * Stores the whole of a text in the store of the session.
 *
 * The bytes are stored before the entry that names them. A crash in between leaves unreachable bytes that no log mentions,
 * and the call is settled again.
 *
 * @param reader the name of the tool that reads it.
 * @returns what the model sees: the beginning, and the handle to continue with.
 */
export async function spill(
  text: string,
  limit: number,
  result: ToolResult,
  reader: string,
  ctx: HookContext,
): Promise<string> {
  const { callId, tool, label } = result
  const whole = text.toWellFormed()
  const bytes = Buffer.from(whole, 'utf8')
  if (bytes.length > maxSpillBytes) return cutTail(text, limit, ' The rest was not kept: it is too long.')
  const hash = await ctx.putBlob(bytes)
  const key = spillKey(callId, hash)
  const lines = countLines(bytes)
  const travels = ctx.session.ephemeral && whole.length <= maxTravelling
  const drafted: SpilledResult = {
    handle: newHandle(),
    callId,
    toolName: tool.name,
    hash,
    bytes: bytes.length,
    lines,
    label,
    ...(travels && { text: whole }),
  }
  await ctx.append(key, toJson(drafted))
  // A handle in the log for this result takes precedence.
  const { handle } = ctx.fold(spilledResults)?.byKey.get(key) ?? drafted
  const preview = whole.slice(0, headLength(whole, Math.min(previewTokens, roomIn(limit))))
  const shown = Buffer.byteLength(preview)
  const next = JSON.stringify({ handle, bytes: { from: shown, to: Math.min(bytes.length, shown + maxSliceBytes) } })
  const json = result.output.type === 'json' ? ' of JSON' : ''
  return [
    preview,
    `[The first ${shown} of ${bytes.length} bytes (${lines} ${lines === 1 ? 'line' : 'lines'})${json}. The whole is kept: go on with ${reader}(${next}), or give lines instead of bytes.]`,
  ].join('\n')
}
