export type { Journal, JournalEntry } from './sandbox/journal.ts'
export type { SandboxLimits } from './worker/limits.ts'
export type { SandboxError } from './sandbox/sandbox-error.ts'
export type { ScriptCall } from './sandbox/sandbox-options.ts'
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox/sandbox.ts'
export {
  type SandboxResult,
  type SandboxRunOptions,
  type SandboxStats,
  type ScriptTool,
} from './sandbox/sandbox-options.ts'
export { planned, type PlannedOptions } from './planned/planned.ts'
export type { Endorsement, Endorsements } from './planned/script-helpers.ts'
export { codeMode, type CodeModeOptions } from './tool/code-mode.ts'
