import type { FileFacts, FolderEntry } from '../runtime/posix-files.ts'

// The messages between a runtime and the thread of its interpreter. Imports nothing at run time, since the thread
// starts from source and from a build.

/** A file, folder or link as a command left it. */
export type KeptEntry =
  | {
      readonly path: string
      readonly kind: 'gone'
      /** A new thread would begin with it. */
      readonly fromStart: boolean
    }
  | { readonly path: string; readonly kind: 'directory'; readonly mode: number; readonly mtime: number }
  | { readonly path: string; readonly kind: 'link'; readonly target: string }
  | {
      readonly path: string
      readonly kind: 'file'
      /** In memory that both threads see: a new thread gets it without a copy. */
      readonly data: Uint8Array
      readonly mode: number
      readonly mtime: number
    }

/** The initial state of a thread. */
export interface ShellSetup {
  readonly cwd: string
  /** Files that are there from the beginning, by absolute path. */
  readonly files: Readonly<Record<string, string | Uint8Array>>
  /** The changes by earlier commands, parents before their contents. */
  readonly kept: readonly KeptEntry[]
  /** Bytes of stdout and of stderr each that are returned. */
  readonly maxOutputBytes: number
}

/** One shell command. */
export interface ShellCommand {
  readonly command: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** The result of a command. */
export interface ShellOutput {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
  readonly truncated: boolean
}

/** The tasks of a thread and their results. */
export interface ShellTasks {
  exec: { readonly input: ShellCommand; readonly output: ShellOutput }
  realpath: { readonly input: string; readonly output: string }
  facts: { readonly input: string; readonly output: FileFacts }
  read: { readonly input: string; readonly output: Uint8Array }
  write: { readonly input: { readonly at: string; readonly data: Uint8Array }; readonly output: void }
  makeFolder: { readonly input: string; readonly output: void }
  rename: { readonly input: { readonly from: string; readonly to: string }; readonly output: void }
  remove: { readonly input: string; readonly output: void }
  entries: { readonly input: string; readonly output: readonly FolderEntry[] }
}

export type ShellTask = {
  [K in keyof ShellTasks]: { readonly task: K; readonly input: ShellTasks[K]['input'] }
}[keyof ShellTasks]

/** The messages of a thread. A task has `begun`, then one response. */
export type ShellReply =
  | { readonly say: 'missing'; readonly reason: string }
  | { readonly say: 'begun' }
  | { readonly say: 'done'; readonly output: unknown; readonly changed: readonly KeptEntry[] }
  | { readonly say: 'failed'; readonly message: string; readonly changed: readonly KeptEntry[] }
  /** The task left too many files or bytes: the thread and its changes are dropped. */
  | { readonly say: 'too-many'; readonly count: number }

/** Files, folders and links that a runtime keeps, at most. */
export const mostKept: number = 20_000
/** Bytes of all files of a runtime, at most. */
export const mostFileBytes: number = 256 * 1024 * 1024
