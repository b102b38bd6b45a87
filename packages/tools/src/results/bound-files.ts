import type { FilePart, TextPart, ToolOutput } from '@provost/core'

/** The most bytes that the files of one result may have together. No provider takes a request that is longer. */
const maxFileBytes = 32 * 1024 * 1024
/** The most files in one result. */
const maxFiles = 100

/**
 * Returns an output without files that are too many or too big for any model. A line of text names the omitted ones.
 * Files are never cut.
 */
export function boundFiles(output: ToolOutput): ToolOutput {
  if (output.type !== 'content' || output.value.every((part) => part.type === 'text')) return output
  let room = maxFileBytes
  let files = 0
  let left = 0
  const value: (TextPart | FilePart)[] = []
  for (const part of output.value) {
    if (part.type === 'text') {
      value.push(part)
      continue
    }
    const size = sizeOf(part)
    if (files < maxFiles && size <= room) {
      room -= size
      files++
      value.push(part)
    } else if (left++ < maxFiles) value.push({ type: 'text', text: leftOut(part, size) })
  }
  return left === 0 ? output : { type: 'content', value }
}

function sizeOf({ data }: FilePart): number {
  switch (data.type) {
    case 'data':
      return Math.floor((data.data.length * 3) / 4)
    case 'url':
      return data.url.length
    case 'blob':
      return data.bytes
    case 'text':
    case 'reference':
      return 0
  }
}

function leftOut({ mediaType, filename }: FilePart, bytes: number): string {
  const name = filename === undefined ? '' : ` ${JSON.stringify(filename.slice(0, 100))}`
  return `[A file${name} of type ${mediaType.slice(0, 100)} and ${bytes} bytes was left out: it is too much for one result.]`
}
