import { checkArguments } from '@provost/core'
/** Elements for reasoning and tool calls that some providers pass on as text. */
const marker =
  /<(\/?)(think|thinking|thought|reasoning|analysis|scratchpad|commentary|tool_calls?|tool_response|function_calls?)(?:\s[^<>]{0,200})?>|<\|([a-z_]{1,20})\|>/gi

/** Markers after which the first text names the speaker and the recipient. */
const headers: ReadonlySet<string> = new Set(['start', 'channel', 'constrain'])

/**
 * Returns a model's text without reasoning and calls in tags, channels other than the final one, frames of stack traces,
 * and names of secrets. An unclosed element is left out up to the end. Linear in the text.
 *
 * @example
 * sanitizeAnnotations('<think>they owe us</think>Done.') // 'Done.'
 */
export function sanitizeAnnotations(text: string): string {
  checkArguments('sanitizeAnnotations', [text], ['text'])
  return sanitizeTrace(withoutAsides(text))
}

/**
 * Returns a text without frames of stack traces and names of secrets, for texts that are not a model's. Linear.
 */
export function sanitizeTrace(text: string): string {
  const hidden = text.replace(/⟦secret:[^⟦⟧]{0,200}⟧/g, '⟦secret⟧')
  if (!hidden.includes('at ') && !hidden.includes('File "')) return hidden
  return hidden
    .split('\n')
    .filter((line) => !isFrame(line))
    .join('\n')
}

function isFrame(line: string): boolean {
  const text = line.trim()
  if (text.startsWith('at ')) return /:\d{1,9}:\d{1,9}\)?$|\((?:native|<anonymous>)\)$/.test(text.slice(-40))
  return text.startsWith('File "') && text.includes('", line ')
}

function withoutAsides(text: string): string {
  let kept: string[] = []
  let from = 0
  /** The hidden element, and its nesting depth. */
  let inside = ''
  let depth = 0
  let channel: 'none' | 'header' | 'hidden' = 'none'
  let named = ''
  for (const found of text.matchAll(marker)) {
    const before = text.slice(from, found.index)
    from = found.index + found[0].length
    const [, slash = '', tag = '', token = ''] = found
    if (token) {
      if (inside) continue
      if (channel === 'none') kept.push(before)
      const name = token.toLowerCase()
      if (channel === 'header' && named === 'channel') named = before.trim()
      if (headers.has(name)) {
        channel = 'header'
        if (name !== 'constrain') named = name
      } else if (name === 'message')
        channel = named === 'final' || named.startsWith('final ') || named === 'start' ? 'none' : 'hidden'
      else channel = 'none'
      continue
    }
    const name = tag.toLowerCase()
    if (channel !== 'none') continue
    if (inside) {
      if (name === inside) depth += slash ? -1 : 1
      if (depth === 0) inside = ''
      continue
    }
    if (!slash) {
      kept.push(before)
      inside = name
      depth = 1
      // An end tag without a start tag: some templates open the element in the prompt.
    } else if (name.startsWith('th')) kept = []
    else kept.push(before)
  }
  if (from === 0) return text
  if (!inside && channel === 'none') kept.push(text.slice(from))
  return kept.join('').trim()
}
