/** What a command gave. */
export interface ExecResult {
  readonly stdout: string
  readonly stderr: string
  /** 128 + the signal's number where a signal ended it, as shells say it. */
  readonly exitCode: number
  /** Output beyond the bound was dropped. */
  readonly truncated: boolean
}

/**
 * How far a runtime keeps what is executed through it from this machine. `process`: its files are confined to its root, and
 * commands run with limits. `isolated`: it shares neither files nor network with this machine.
 */
export type Isolation = 'none' | 'process' | 'isolated'

/** Where tools act: the only way from a built-in tool to files and processes. */
export interface Runtime {
  /** The root: relative paths start here, and no path leads out of it. */
  readonly cwd: string
  /** What it gives to tools that declare a `sandbox`. Absent: `none`. */
  readonly isolation?: Isolation
  /** @param options `timeout` in milliseconds; `onOutput` gets output as it comes. */
  exec(
    command: string,
    options?: {
      cwd?: string | undefined
      timeout?: number | undefined
      signal?: AbortSignal | undefined
      onOutput?: ((chunk: string, stream: 'stdout' | 'stderr') => void) | undefined
    },
  ): Promise<ExecResult>
  readFile(path: string): Promise<Uint8Array>
  /**
   * A stretch of a file that may be too big to be read whole: the bytes from `from` to before `to`, fewer at its end.
   * A runtime that has no cheaper way than {@link readFile} leaves it out.
   */
  readRange?(path: string, from: number, to: number): Promise<FileRange>
  writeFile(path: string, data: string | Uint8Array): Promise<void>
  list(path: string): Promise<readonly RuntimeFile[]>
}

/** A stretch of a file. */
export interface FileRange {
  readonly bytes: Uint8Array
  /** Of the whole file, in bytes. */
  readonly size: number
}

/** One row of a folder. */
export interface RuntimeFile {
  readonly name: string
  readonly kind: 'file' | 'directory'
  readonly bytes: number
}
