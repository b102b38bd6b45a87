import { deepFreeze, fillLabel, untrustedLabel } from '@provost/core'
import type { JsonPointer, Label, LabelInit, Tool, ToolDefinition } from '@provost/core'

import type { RichMore } from './rich.ts'

/** Labels that apply to everything a tool returns, errors included. */
const fixed = new WeakMap<ToolDefinition, LabelInit>()

/** Notes that `returns` of a tool was a label, not a function of the result. */
export function fixLabel(definition: ToolDefinition, label: LabelInit): void {
  fixed.set(definition, label)
}

/** Constant labels by tool: long histories share one object, which joins quickly. */
const standing = new WeakMap<Tool, Label>()

function standingLabel(tool: Tool): Label {
  let label = standing.get(tool)
  if (!label) {
    label = deepFreeze(fillLabel(fixed.get(tool['~tool']), untrustedLabel(tool.name)))
    standing.set(tool, label)
  }
  return label
}

/**
 * Returns the label of an error. It is never trusted, since an error may quote any content.
 */
export function errorLabel(tool: Tool): Label {
  return { ...standingLabel(tool), integrity: 'untrusted' }
}

/** Returns the label of an error with data: the tool may make it stricter, never trusted. */
export function errorDataLabel(tool: Tool, more: RichMore): Label {
  return { ...fillLabel(more.label, standingLabel(tool)), integrity: 'untrusted' }
}

/** Labels of a result and of its fields. */
export interface ResultLabels {
  readonly label: Label
  readonly fields?: Readonly<Record<JsonPointer, Label>>
}

/**
 * @param output the validated result.
 * @param input the input that `execute` received.
 */
export function labelsOf(tool: Tool, output: unknown, input: unknown, more: RichMore | undefined): ResultLabels {
  const definition = tool['~tool']
  const declared =
    definition.returns && !fixed.has(definition)
      ? fillLabel(definition.returns(output, input), untrustedLabel(tool.name))
      : standingLabel(tool)
  const label = fillLabel(more?.label, declared)
  if (definition.trustedFields.length === 0 && more?.fields === undefined) return { label }
  const fields: Record<JsonPointer, Label> = {}
  for (const pointer of definition.trustedFields) fields[pointer] = { ...label, integrity: 'trusted' }
  for (const [pointer, init] of Object.entries(more?.fields ?? {}))
    if (isPointer(pointer)) fields[pointer] = fillLabel(init, label)
  return { label, fields }
}

/** Returns whether a text is a valid JSON pointer. */
export function isPointer(text: string): text is JsonPointer {
  return text.startsWith('/')
}
