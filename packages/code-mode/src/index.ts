export type { Journal, JournalEntry } from './journal.ts'
export type { SandboxLimits } from './limits.ts'
export type { SandboxError } from './sandbox-error.ts'
export type { ScriptCall } from './script-run.ts'
export {
  createSandbox,
  type Sandbox,
  type SandboxResult,
  type SandboxRunOptions,
  type SandboxStats,
  type ScriptTool,
} from './sandbox.ts'
export { codeMode, type CodeModeOptions } from './code-mode.ts'
