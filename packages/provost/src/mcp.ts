// Tools of MCP servers.
export { mcpTools, fingerprintFile } from '@provost/tools'
export type {
  McpDefinition,
  McpEffects,
  McpFingerprints,
  McpCallInfo,
  McpOptions,
  McpResourceLink,
  McpTools,
  McpToolSettings,
  McpTransport,
  RefusedMcpTool,
} from '@provost/tools'
