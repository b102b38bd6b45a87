import type { Tool, ToolExample } from '@provost/core'
import { toJson, wireToolName } from '@provost/core'
import type { ModelCall } from '@provost/provider'

/** A tool in the form a model call takes. */
export type ModelTool = NonNullable<ModelCall['tools']>[number]

const longestExample = 4_000

/** Returns the tool as a model receives it. Made once for each tool, so that every request has the same bytes. */
export function modelTool(tool: Tool): ModelTool {
  const { provider, examples, strict, providerOptions } = tool['~tool']
  const name = wireToolName(tool.name)
  if (provider) return { type: 'provider', id: provider.id, name, args: { ...provider.args } }
  const paragraphs = [
    ...(tool.description === undefined ? [] : [tool.description]),
    // In the description: most providers drop `inputExamples`, and none accepts outputs and notes.
    ...(examples.length > 0 ? [['Examples:', ...examples.map(exampleText)].join('\n')] : []),
  ]
  return {
    type: 'function',
    name,
    ...(paragraphs.length > 0 && { description: paragraphs.join('\n\n') }),
    inputSchema: tool.inputSchema,
    ...(strict !== undefined && { strict }),
    ...(providerOptions && { providerOptions }),
  }
}

function exampleText({ input, output, note }: ToolExample): string {
  const call = `- ${JSON.stringify(toJson(input))}`
  const result = output === undefined ? '' : ` gives ${JSON.stringify(toJson(output))}`
  return `${call}${result}${note === undefined ? '' : ` (${note})`}`.slice(0, longestExample)
}
