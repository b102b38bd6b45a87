import type { Label, ToolResult } from '@provost/core'
import { fillLabel, joinLabels } from '@provost/core'

/** Returns the strictest label of a result, its fields and its parts. */
export function labelOfResult({ label, fields, output }: Pick<ToolResult, 'label' | 'fields' | 'output'>): Label {
  const parts = output.type === 'content' ? output.value.flatMap((part) => part.label ?? []) : []
  const inner = [...Object.values(fields ?? {}), ...parts].map((one) => fillLabel(one, label))
  return inner.length > 0 ? joinLabels(label, ...inner) : label
}
