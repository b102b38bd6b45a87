export { fromAiTool } from './ai-tool.ts'
export type { AiTool, AiToolMore } from './ai-tool.ts'
export { runBatch } from './batch.ts'
export type { BatchOptions } from './batch.ts'
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
export { parseInput } from './input.ts'
export type { ParsedInput } from './input.ts'
export { jsonSchemaOf } from './json-schema.ts'
export type { SchemaSide } from './json-schema.ts'
export type { McpResourceLink } from './mcp/content.ts'
export type { McpEffects } from './mcp/effect.ts'
export { mcpTools } from './mcp/mcp-tools.ts'
export type {
  McpDefinition,
  McpCallInfo,
  McpOptions,
  McpTools,
  McpToolSettings,
  McpTransport,
  RefusedMcpTool,
} from './mcp/options.ts'
export type { ToolOutcome } from './outcome.ts'
export { resultOf } from './output.ts'
export { buildRegistry } from './registry.ts'
export type { BuiltRegistry, ToolCollision, ToolCollisions, ToolOffer, ToolRegistry, ToolSource } from './registry.ts'
export { rich } from './rich.ts'
export type { Rich, RichMore } from './rich.ts'
export { loadSkills } from './skills/load-skills.ts'
export { runTool } from './run.ts'
export type { Bridge, ToolRun } from './run.ts'
export { justBashRuntime } from './runtime/just-bash.ts'
export type { JustBashRuntimeOptions } from './runtime/just-bash.ts'
export { readResultName, readResultTool } from './results/read-result.ts'
export type { ReadResultInput, ResultSlice } from './results/read-result.ts'
export type { ResultReader, ResultReaders } from './results/reader.ts'
export { resultLimits } from './results/result-limits.ts'
export { nodeRuntime } from './runtime/runtime.ts'
export type { NodeRuntimeOptions } from './runtime/runtime.ts'
export { vercelSandboxRuntime } from './runtime/vercel-sandbox.ts'
export type {
  VercelCommand,
  VercelSandbox,
  VercelSandboxRuntime,
  VercelSandboxRuntimeOptions,
} from './runtime/vercel-sandbox.ts'
export { createSlots } from './slots.ts'
export type { Slots } from './slots.ts'
export { defaultTimeoutMs, tool } from './tool.ts'
export type { Executed, ResultOf, ToolOptions } from './tool-options.ts'
export { toolCache } from './tool-cache.ts'
export { toolInputs } from './tool-inputs.ts'
export { listTools, toolSet } from './tool-list.ts'
export type { ToolRecord, ToolsIn, ToolsInput } from './tool-list.ts'
export { toolSearch } from './tool-search.ts'
export { webFetchTool } from './web/web-fetch.ts'
export type { WebFetchOptions, WebFetchResult } from './web/web-fetch.ts'
export type { HostLookup } from './web/target.ts'
