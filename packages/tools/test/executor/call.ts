import type { Json, SessionAccess, Tool } from '@provost/core'
import { nodeRuntime, parseInput, runTool } from '@provost/tools'
import type { ToolOutcome, ToolRun } from '@provost/tools'

/** The output of a call while it ran. */
export interface Said {
  readonly progress: Json[]
  readonly partials: ({ readonly delta: string } | { readonly value: Json })[]
}

/** A session for tools that do not use it. */
export const nowhere: SessionAccess = {
  session: { id: 'session' },
  fold: ({ initial }) => initial,
  now: () => 0,
  blob: async () => undefined,
  putBlob: async () => '',
}

/** Parses the input and runs the tool, as the loop does. */
export async function call(
  tool: Tool,
  input: Json = {},
  more: Partial<ToolRun> & { readonly said?: Said } = {},
): Promise<ToolOutcome> {
  const parsed = await parseInput(tool, input)
  if (!parsed.ok) throw new Error(parsed.error.message)
  const { said = { progress: [], partials: [] }, ...run } = more
  return runTool(tool, {
    callId: 'run/1/call/0',
    idempotencyKey: 'run/1/call/0',
    input,
    value: parsed.value,
    signal: new AbortController().signal,
    graceMs: 50,
    runtime: nodeRuntime(),
    access: nowhere,
    context: undefined,
    messages: [],
    progress: (data) => void said.progress.push(data),
    partial: (piece) => void said.partials.push(piece),
    ...run,
  })
}

/** The text that the model sees of an outcome. */
export function seen({ output }: ToolOutcome): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : '')).join('')
    default:
      return JSON.stringify(output)
  }
}
