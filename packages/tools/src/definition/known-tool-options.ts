import type { AnySchema, KnownKeys, MovedKeys, StandardSchemaV1, ToolCaching, ToolExample } from '@provost/core'

import type { ToolOptions } from './tool-options.ts'

/** The options of {@link tool}. */
export const toolKeys: KnownKeys<ToolOptions<AnySchema, unknown, unknown, StandardSchemaV1>> = {
  name: true,
  description: true,
  title: true,
  input: true,
  output: true,
  composite: true,
  execute: true,
  examples: true,
  version: true,
  sandbox: true,
  effect: true,
  returns: true,
  trustedFields: true,
  args: true,
  needsApproval: true,
  stage: true,
  timeoutMs: true,
  idempotent: true,
  lookup: true,
  effectKey: true,
  effectScope: true,
  compensate: true,
  maxResultTokens: true,
  truncation: true,
  secrets: true,
  executionMode: true,
  preferredModel: true,
  modelOnly: true,
  deferLoading: true,
  cache: true,
  sanitize: true,
}

export const cacheKeys: KnownKeys<ToolCaching> = { ttlMs: true, share: true }

export const exampleKeys: KnownKeys<ToolExample> = { input: true, output: true, note: true }

const fromAi = 'Pass the tool of the AI SDK itself, or fromAiTool(name, tool, { … }).'

/**
 * Names that other runtimes use for options that exist here under another name, or are not needed. Fields of AI SDK
 * tools come first.
 */
export const movedToolKeys: MovedKeys = {
  inputSchema: 'Name it "input".',
  outputSchema: 'Name it "output".',
  inputExamples: 'Name it "examples".',
  type: `It has no meaning in tool(). ${fromAi}`,
  id: `It has no meaning in tool(). ${fromAi}`,
  isProviderExecuted: `It has no meaning in tool(). ${fromAi}`,
  supportsDeferredResults: `It has no meaning in tool(). ${fromAi}`,
  strict: `It has no meaning in tool(): each input is checked against its schema. ${fromAi}`,
  metadata: 'It has no meaning here: return rich(value, { details }) from "execute".',
  providerOptions: `It has no meaning in tool(). ${fromAi}`,
  contextSchema: 'It has no meaning in tool(): annotate the second parameter of "execute" as ToolContext<App>.',
  toModelOutput: 'Return rich(value, { content }) from "execute".',
  experimental_toToolResultContent: 'Return rich(value, { content }) from "execute".',
  onInputStart: 'Listen to the event tool.call.start.',
  onInputDelta: 'Listen to the event tool.call.delta.',
  onInputAvailable: 'Listen to the event tool.call.end.',
  parameters: 'Name it "input".',
  schema: 'Name it "input".',
  args_schema: 'Name it "input".',
  outputType: 'Name it "output".',
  handler: 'Name it "execute".',
  run: 'Name it "execute".',
  func: 'Name it "execute".',
  invoke: 'Name it "execute".',
  requiresApproval: 'Name it "needsApproval".',
  requireApproval: 'Name it "needsApproval".',
  needs_approval: 'Name it "needsApproval".',
  timeout: 'Name it "timeoutMs"; it is in milliseconds.',
  label: 'Name it "returns".',
  labels: 'Name it "returns".',
  roles: 'Name it "args".',
  readOnly: "Give effect: 'read'.",
  inputGuardrails: "Add an extension with the hook 'tool.call' to the agent.",
  outputGuardrails: "Add an extension with the hook 'tool.result' to the agent.",
}
