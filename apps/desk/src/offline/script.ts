import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { z } from 'provost'

import type { Step } from './plan.ts'

// The offline model plans calls. In code mode, its scripts make these calls in sequence and return the outcome of each.

const name = 'code_execute'
const planSchema = z.array(z.object({ name: z.string(), input: z.record(z.string(), z.unknown()) }))
const saidSchema = z.object({
  result: z.array(z.object({ value: z.json().optional(), problem: z.string().optional() })),
})
const first = 'const calls = '

/** Whether tools can only be called from scripts. */
export function writesScripts({ tools = [] }: LanguageModelV4CallOptions): boolean {
  return tools.some((tool) => tool.name === name)
}

/** Returns the same step, with its calls in one script. */
export function asScript({ calls, ...step }: Step): Step {
  // A script cannot hand a conversation over.
  if (calls.every((call) => call.name.startsWith('transfer_to_'))) return { ...step, calls }
  const source = `${first}${JSON.stringify(calls)}
const said = []
for (const { name, input } of calls) {
  try {
    said.push({ value: await tools[name](input) })
  } catch (e) {
    said.push({ problem: e.message })
  }
}
return said`
  return { ...step, calls: [{ name, input: { source } }] }
}

function callsIn(input: unknown): z.output<typeof planSchema> {
  const { source } = z.object({ source: z.string() }).parse(input)
  const [line = ''] = source.split('\n')
  return planSchema.parse(JSON.parse(line.slice(first.length)))
}

/** Returns the conversation as if each call of a script had been made directly. */
export function withoutScripts(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const planned = new Map<string, z.output<typeof planSchema>>()
  return prompt.map((message): LanguageModelV4Prompt[number] => {
    if (message.role === 'assistant') {
      const content = message.content.flatMap((part): typeof message.content => {
        if (part.type !== 'tool-call' || part.toolName !== name) return [part]
        const calls = callsIn(part.input)
        planned.set(part.toolCallId, calls)
        return calls.map(({ name: toolName, input }, n) => ({
          type: 'tool-call' as const,
          toolCallId: `${part.toolCallId}.${n}`,
          toolName,
          input,
        }))
      })
      return { ...message, content }
    }
    if (message.role !== 'tool') return message
    const content = message.content.flatMap((part): typeof message.content => {
      if (part.type !== 'tool-result' || part.toolName !== name) return [part]
      const said = part.output.type === 'json' ? saidSchema.safeParse(part.output.value) : undefined
      return (planned.get(part.toolCallId) ?? []).map(({ name: toolName }, n) => {
        const { value, problem = 'the script failed' } = said?.data?.result[n] ?? {}
        return {
          type: 'tool-result' as const,
          toolCallId: `${part.toolCallId}.${n}`,
          toolName,
          output:
            value === undefined ? { type: 'error-text' as const, value: problem } : { type: 'json' as const, value },
        }
      })
    })
    return { ...message, content }
  })
}
