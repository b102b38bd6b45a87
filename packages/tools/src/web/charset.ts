const sniffedBytes = 1024

/**
 * Bytes of a page as text, in the encoding that its first bytes, the header or the page itself name, in this order; else
 * UTF-8 where it is that, else Windows-1252, as browsers do.
 *
 * @param contentType the header.
 */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const named = byMark(bytes) ?? charsetIn(contentType) ?? byMeta(bytes)
  const decoder = named === undefined ? undefined : decoderFor(named)
  if (decoder) return decoder.decode(bytes)
  // The end may be cut in the middle of a character, which streaming accepts, unlike other errors.
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function byMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined
}

function charsetIn(text: string): string | undefined {
  return /charset\s?=\s?["']?([\w:.-]{1,40})/i.exec(text.slice(0, sniffedBytes))?.[1]
}

function byMeta(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, sniffedBytes))
  const meta = /<meta\s[^>]{0,300}/gi
  for (const [tag] of head.matchAll(meta)) {
    const named = charsetIn(tag)
    // The bytes are readable as ASCII, so they are not UTF-16, whatever the header states.
    if (named !== undefined) return named.toLowerCase().startsWith('utf-16') ? 'utf-8' : named
  }
  return undefined
}

function decoderFor(name: string): TextDecoder | undefined {
  try {
    return new TextDecoder(name)
  } catch {
    return undefined
  }
}
