import type { KnownKeys, MovedKeys } from '@provost/core'

import type { AiTool, AiToolMore } from './ai-tool.ts'

/** Options of `fromAiTool`. */
export const aiMoreKeys: KnownKeys<AiToolMore> = {
  effect: true,
  args: true,
  returns: true,
  trustedFields: true,
  timeoutMs: true,
  idempotent: true,
  executionMode: true,
  cache: true,
}

/** The shape of a tool of the AI SDK. Of these, `metadata` and `supportsDeferredResults` have no meaning here. */
const aiKeys: KnownKeys<AiTool> = {
  type: true,
  id: true,
  args: true,
  isProviderExecuted: true,
  supportsDeferredResults: true,
  title: true,
  description: true,
  metadata: true,
  inputSchema: true,
  outputSchema: true,
  inputExamples: true,
  contextSchema: true,
  strict: true,
  deferLoading: true,
  providerOptions: true,
  needsApproval: true,
  execute: true,
  toModelOutput: true,
  onInputStart: true,
  onInputDelta: true,
  onInputAvailable: true,
}

/** Other known fields of such objects: an MCP client of the AI SDK adds `_meta`. */
export const aiToolKeys: Readonly<Record<string, true>> = { ...aiKeys, _meta: true }

/** What the definition of an AI SDK tool lacks. */
export const movedAiKeys: MovedKeys = {
  ...Object.fromEntries(Object.keys(aiMoreKeys).map((key) => [key, `Say it in fromAiTool(name, tool, { ${key} }).`])),
  parameters: 'Name it "inputSchema".',
  experimental_toToolResultContent: 'Name it "toModelOutput".',
}
