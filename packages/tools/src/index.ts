export { a2aTool } from './a2a/a2a-tools.ts'
export type { A2aToolInput, A2aToolOptions, A2aToolResult } from './a2a/a2a-tools.ts'
export { fromAiTool } from './ai-sdk/ai-tool.ts'
export type { AiTool, AiToolMore, PlainTool } from './ai-sdk/ai-tool.ts'
export { runBatch } from './executor/batch.ts'
export type { BatchOptions } from './executor/batch.ts'
export { bashTool } from './files/bash.ts'
export { editTool } from './files/edit.ts'
export { fileTools } from './files/file-tools.ts'
export { globTool } from './files/glob.ts'
export type { GlobResult } from './files/glob.ts'
export { grepTool } from './files/grep.ts'
export type { GrepMatch, GrepResult } from './files/grep.ts'
export { readTool } from './files/read.ts'
export type { ReadBytes, ReadLines, ReadResult } from './files/read.ts'
export { writeTool } from './files/write.ts'
export { foreignSchema, schemaProblems } from './foreign-schema/foreign-schema.ts'
export type { ForeignSchemaOptions } from './foreign-schema/foreign-schema.ts'
export { patternAllowance } from './foreign-schema/schema-review.ts'
export type { PatternAllowance, SchemaProblem } from './foreign-schema/schema-review.ts'
export { modelTool } from './definition/model-tool.ts'
export type { ModelTool } from './definition/model-tool.ts'
export { parseInput } from './definition/parse-input.ts'
export type { ParsedInput } from './definition/parse-input.ts'
export { jsonSchemaOf } from './definition/json-schema.ts'
export type { SchemaSide } from './definition/json-schema.ts'
export type { McpResourceLink } from './mcp/content.ts'
export { fingerprintFile } from './mcp/fingerprint-file.ts'
export { mcpTools } from './mcp/mcp-tools.ts'
export type {
  McpDefinition,
  McpCallInfo,
  McpEffects,
  McpFingerprints,
  McpOptions,
  McpTools,
  McpToolSettings,
  McpTransport,
  RefusedMcpTool,
} from './mcp-transport/mcp-options.ts'
export type { ToolOutcome } from './executor/outcome.ts'
export { remoteFailure } from './executor/outcome.ts'
export { hasEffect, leavesOutcomeOpen } from './executor/unknown-outcome.ts'
export { resultOf } from './executor/validate-output.ts'
export { buildRegistry } from './registry/registry.ts'
export type {
  BuiltRegistry,
  ToolCollision,
  ToolCollisions,
  ToolOffer,
  ToolRegistry,
  ToolSource,
} from './registry/registry.ts'
export { rich } from './definition/rich.ts'
export type { Rich, RichMore } from './definition/rich.ts'
export { loadSkills } from './skills/load-skills.ts'
export { skillCatalogue } from './skills/skills.ts'
export { runTool } from './executor/execute-tool.ts'
export type { CompositeBinding, ToolRun } from './executor/execute-tool.ts'
export { justBashRuntime } from './just-bash/just-bash.ts'
export type { JustBashRuntimeOptions } from './just-bash/just-bash.ts'
export { readResultName, readResultTool } from './results/read-result.ts'
export type { ReadResultInput, ResultSlice } from './results/read-result.ts'
export type { ResultReader, ResultReaders } from './results/reader.ts'
export { resultLimits } from './results/result-limits.ts'
export { declaredSecrets, restoredInput } from './secrets/call-secrets.ts'
export { secretRef } from './secrets/secret-ref.ts'
export type { SecretSource } from './secrets/secret-ref.ts'
export { childSecrets, createSecretScope } from './secrets/secret-scope.ts'
export type { SecretGrant, SecretInheritance, SecretScope } from './secrets/secret-scope.ts'
export { nodeRuntime } from './runtime/runtime.ts'
export type { NodeRuntimeOptions } from './runtime/runtime.ts'
export { vercelSandboxRuntime } from './runtime/vercel-sandbox.ts'
export type {
  VercelCommand,
  VercelSandbox,
  VercelSandboxRuntime,
  VercelSandboxRuntimeOptions,
} from './runtime/vercel-sandbox.ts'
export { createSlots } from './executor/slots.ts'
export type { Slots } from './executor/slots.ts'
export { defaultTimeoutMs, tool } from './definition/tool.ts'
export type { Executed, ResultOf, ToolOptions } from './definition/tool-options.ts'
export { toolCache } from './registry/tool-cache.ts'
export { createToolIndex } from './registry/tool-index.ts'
export type { ToolIndex } from './registry/tool-index.ts'
export { toolInputs } from './executor/input-events.ts'
export { listTools, toolSet } from './ai-sdk/tool-list.ts'
export type { ToolRecord, ToolsIn, ToolsInput } from './ai-sdk/tool-list.ts'
export { toolSearch } from './registry/tool-search.ts'
export { webFetchTool } from './web/web-fetch.ts'
export type { WebFetchOptions, WebFetchResult } from './web/web-fetch.ts'
export type { HostLookup } from './web/target.ts'
export { checkSandboxes, sandboxed } from './definition/sandbox.ts'
