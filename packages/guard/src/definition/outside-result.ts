import type { Json, Tool, ToolOutput, ToolResult } from '@provost/core'
import { untrustedLabel } from '@provost/core'
import { resultOf } from '@provost/tools'

/** The parts of a result that depend on the declarations of its tool. */
export type OutsideResult = Pick<ToolResult, 'outcome' | 'output' | 'label' | 'fields'>

/**
 * Returns a result of another loop with the labels that its tool declares. What the model received stays as it is: a result
 * that does not match the output schema of its tool, and one that the guard did not see arise, is untrusted.
 */
export async function resultIn(tool: Tool, output: ToolOutput, input: Json, isSeen: boolean): Promise<OutsideResult> {
  const label = untrustedLabel(tool.name)
  switch (output.type) {
    case 'error-text':
    case 'error-json':
      return { outcome: 'error', output, label }
    case 'execution-denied':
      return { outcome: 'denied', output, label }
    case 'content':
    case 'text':
    case 'json': {
      if (!isSeen) return { outcome: 'ok', output, label }
      const value =
        output.type === 'content' ? output.value.map((part) => ('text' in part ? part.text : '')) : output.value
      const { outcome, label: declared, fields } = await resultOf(tool, value, input)
      if (outcome !== 'ok') return { outcome: 'ok', output, label }
      return { outcome, output, label: declared, ...(fields && { fields }) }
    }
    default:
      return output satisfies never
  }
}
