import type { Json, ToolOutput } from '@provost/core'

/** Returns the value of a text or JSON output; undefined for any other. */
export function outputValue(output: ToolOutput): Json | undefined {
  return output.type === 'text' || output.type === 'json' ? output.value : undefined
}
