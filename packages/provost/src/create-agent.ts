import { type AgentOptions, createAgent as createPlainAgent, type HandoffTarget } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import { checkArguments, checkChoice, type Extension, type StandardSchemaV1 } from '@provost/core'
import type { ToolsInput } from '@provost/tools'

/** How the model calls tools. */
export interface ToolInvocation {
  /** `code-mode`: in scripts, as with the extension `codeMode()`. Default `direct`. */
  readonly toolInvocation?: 'direct' | 'code-mode'
}

/**
 * Makes an agent. Nothing is contacted until its first run.
 *
 * @throws ProvostError `unknown-option`; `invalid-agent`, `invalid-model`, `invalid-price`, `duplicate-tool`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model: 'anthropic/claude-sonnet-5', tools: [refund] })
 * const { text } = await agent.run('Refund order 17')
 */
export function createAgent<
  O extends StandardSchemaV1 | undefined = undefined,
  const T extends ToolsInput = readonly [],
  const E extends readonly Extension[] = readonly [],
  const H extends readonly HandoffTarget[] = readonly [],
>(options: AgentOptions<O, T, E, H> & ToolInvocation): ReturnType<typeof createPlainAgent<O, T, E, H>> {
  checkArguments('createAgent', [options], ['object'])
  const { toolInvocation = 'direct', ...rest } = options
  checkChoice(toolInvocation, ['direct', 'code-mode'], 'toolInvocation', 'createAgent')
  // Removing the one property that is read here leaves the other options unchanged.
  const plain = rest as typeof options
  if (toolInvocation === 'direct') return createPlainAgent<O, T, E, H>(plain)
  const extensions: readonly Extension[] = [...(plain.extensions ?? []), codeMode()]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one more extension, which wants no app value
  return createPlainAgent<O, T, E, H>({ ...plain, extensions } as typeof options)
}
