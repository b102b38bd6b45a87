// Files and commands.
export {
  bashTool,
  editTool,
  fileTools,
  globTool,
  grepTool,
  readTool,
  writeTool,
  nodeRuntime,
  justBashRuntime,
  vercelSandboxRuntime,
} from '@provost/tools'
export type {
  GlobResult,
  GrepMatch,
  GrepResult,
  ReadBytes,
  ReadLines,
  ReadResult,
  JustBashRuntimeOptions,
  NodeRuntimeOptions,
  VercelCommand,
  VercelSandbox,
  VercelSandboxRuntime,
  VercelSandboxRuntimeOptions,
} from '@provost/tools'
