import process from 'node:process'

import { ProvostError } from '@provost/core'

/** The name of stdin as a file or as an input. */
export const standardInput = '-'

/** Characters of an input that a run gets from stdin. */
const longestInput = 4 * 1024 * 1024

/**
 * Returns the input of a run: the argument itself, or all of stdin for `-`.
 *
 * @throws ProvostError `invalid-usage`
 */
export async function inputOf(argument: string): Promise<string> {
  if (argument !== standardInput) return argument
  let text = ''
  const pieces: AsyncIterable<string> = process.stdin.setEncoding('utf8')
  for await (const piece of pieces) {
    text += piece
    if (text.length > longestInput) {
      throw new ProvostError('invalid-usage', `stdin has more than ${longestInput} characters.`, {
        hint: 'Let the agent read the data with a tool, such as readTool().',
      })
    }
  }
  const input = text.trimEnd()
  if (input !== '') return input
  throw new ProvostError('invalid-usage', 'The input from stdin is empty.', {
    hint: 'Pass the input as an argument, or pipe it: echo "Refund order 17" | provost run desk.ts -',
  })
}
