import type { Json, ToolOutput } from '@provost/core'

/** The value that an output shows, where it shows one. */
export function outputValue(output: ToolOutput): Json | undefined {
  return output.type === 'text' || output.type === 'json' ? output.value : undefined
}
