import type { Tool } from '@provost/core'
import { isRecord, toJson } from '@provost/core'
import type { ModelCall } from '@provost/provider'

/** A tool in the form a model call takes. */
export type WireTool = NonNullable<ModelCall['tools']>[number]

/** Made once for each tool: the catalogue is the same bytes in every request. */
export function wireTool(tool: Tool): WireTool {
  const inputExamples = tool['~tool'].examples.flatMap(({ input }) => {
    const example = toJson(input)
    return isRecord(example) ? [{ input: example }] : []
  })
  return {
    type: 'function',
    name: tool.name,
    ...(tool.description !== undefined && { description: tool.description }),
    inputSchema: tool.inputSchema,
    ...(inputExamples.length > 0 && { inputExamples }),
  }
}
