import { ProvostError } from '@provost/core'
import type { Tool } from '@provost/core'
import { z } from 'zod'

import { tool } from '../definition/tool.ts'
import { isBinary, textIn } from '../file-search/text.ts'

/** Characters that a file may have after an edit. */
const maxCharacters = 64 * 1024 * 1024

/** Replaces a text in a file: once if it is unique, or everywhere. Nothing is written if that fails. */
export const editTool: Tool<
  { path: string; oldText: string; newText: string; replaceAll?: boolean | undefined },
  { replacements: number },
  unknown
> = tool({
  name: 'edit',
  description: 'Replaces text in a file. The old text must occur exactly once, unless replaceAll is set.',
  effect: 'write',
  sandbox: 'process',
  executionMode: 'sequential',
  input: z.object({
    path: z.string().min(1).describe('Relative to the working directory.'),
    oldText: z.string().min(1).describe('The text to replace, exactly as it stands there, white space included.'),
    newText: z.string().describe('The text to put in its place.'),
    replaceAll: z.boolean().default(false).describe('Replace every occurrence.'),
  }),
  args: { path: 'destination', newText: 'content', oldText: 'selector' },
  // The result is a count, so nothing of the file's content is returned.
  returns: { integrity: 'trusted' },
  async execute({ path, oldText, newText, replaceAll }, ctx) {
    if (oldText === newText) throw refused('the old text and the new one are the same', 'Give a new text that differs.')
    const text = exactText(await ctx.runtime.readFile(path), path)
    const [old, next] = asIn(text, oldText, newText)
    const count = occurrences(text, old)
    const shown = JSON.stringify(path)
    if (count === 0)
      throw refused(
        `the old text does not occur in ${shown}`,
        'Read the file again: it must be the same to the letter, indentation and line breaks included.',
      )
    // Overlapping occurrences are ambiguous as well.
    if (count === 1 && !replaceAll && text.includes(old, text.indexOf(old) + 1))
      throw refused(`the old text occurs in ${shown} more than once, overlapping itself`, 'Add lines around it.')
    if (count > 1 && !replaceAll)
      throw refused(
        `the old text occurs ${count} times in ${shown}`,
        'Add lines around it until it is unique, or set replaceAll.',
      )
    if (text.length + count * (next.length - old.length) > maxCharacters)
      throw refused(`${shown} would have more than ${maxCharacters} characters`, 'Replace less.')
    await ctx.runtime.writeFile(
      path,
      text.replaceAll(old, () => next),
    )
    return { replacements: count }
  },
})

/** The text must be readable, and unchanged when written back. */
function exactText(bytes: Uint8Array, path: string): string {
  if (isBinary(bytes)) return textIn(bytes, path)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refused(`${JSON.stringify(path)} is not in UTF-8`, 'Use a command made for its encoding.')
  }
}

/** Returns the texts with the line breaks of the file, since reading shows Windows line breaks as plain ones. */
function asIn(text: string, oldText: string, newText: string): readonly [string, string] {
  if (!text.includes('\r\n')) return [oldText, newText]
  const windows = (one: string): string => one.replaceAll(/\r?\n/g, '\r\n')
  if (!text.includes(oldText)) return [windows(oldText), windows(newText)]
  // A text without a line break does not determine the style.
  return [oldText, oldText.includes('\n') || /[^\r]\n/.test(text) ? newText : windows(newText)]
}

function occurrences(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++
  return count
}

function refused(why: string, hint: string): ProvostError {
  return new ProvostError('edit-refused', `Nothing was changed: ${why}.`, { hint })
}
