// Scripts that a model writes, and the sandbox they run in.
export { codeMode, createSandbox } from '@provost/code-mode'
export type {
  CodeModeOptions,
  Journal,
  JournalEntry,
  Sandbox,
  SandboxError,
  SandboxLimits,
  SandboxResult,
  SandboxOptions,
  SandboxRunOptions,
  SandboxStats,
  ScriptCall,
  ScriptTool,
} from '@provost/code-mode'
