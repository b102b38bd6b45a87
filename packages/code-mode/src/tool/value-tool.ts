import type { CallAnswer, HookContext, Json, Tool, ToolCall } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'
import { tool } from '@provost/tools'

import { handledValues } from './value-handle.ts'

/** The tool with which a script takes a value that an earlier script left behind a handle. */
export function valueTool(): Tool<never, unknown, unknown> {
  return tool({
    name: 'value',
    description:
      'Returns the value behind a handle that an earlier script of this session returned: `await tools.value({ handle: "v-…" })`.',
    input: {
      type: 'object',
      properties: { handle: { type: 'string', pattern: '^v-[a-f0-9]{12}$', description: 'As in ⟦value v-…⟧.' } },
      required: ['handle'],
      additionalProperties: false,
    },
    effect: 'none',
    execute(): Json {
      throw new ProvostError('value-unknown', 'This session has no such value.', {
        hint: 'Use a handle that a script of this session returned.',
      })
    },
  })
}

/** The answer to a call of the tool: the value with its label, from the log. */
export function valueAnswer(call: ToolCall, ctx: HookContext): CallAnswer | undefined {
  const handle = isRecord(call.input) ? call.input['handle'] : undefined
  const found = typeof handle === 'string' ? ctx.fold(handledValues).get(handle) : undefined
  return found && { result: found.value, label: found.label }
}
