/** The result of a command. */
export interface ExecResult {
  readonly stdout: string
  readonly stderr: string
  /** 128 + the signal's number where a signal ended it, as in shells. */
  readonly exitCode: number
  /** Output over the limit was dropped. */
  readonly truncated: boolean
}

/**
 * How far a runtime isolates its commands from this machine. `process`: its files are confined to its root, and commands
 * run with limits. `isolated`: it shares neither files nor network with this machine.
 */
export type Isolation = 'none' | 'process' | 'isolated'

/** Where tools act. Built-in tools access files and processes only through it. */
export interface Runtime {
  /** The root: relative paths start here, and no path leads out of it. */
  readonly cwd: string
  /** The isolation for tools that declare a `sandbox`. Absent: `none`. */
  readonly isolation?: Isolation
  /** @param options `timeout` in milliseconds; `onOutput` receives output as it arrives. */
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
   * Returns a range of a file that may be too big to read whole: the bytes from `from` up to, not including, `to`, and fewer
   * at the end of the file. Omitted by runtimes without a cheaper way than {@link readFile}.
   */
  readRange?(path: string, from: number, to: number): Promise<FileRange>
  writeFile(path: string, data: string | Uint8Array): Promise<void>
  list(path: string): Promise<readonly RuntimeFile[]>
}

/** A range of a file. */
export interface FileRange {
  readonly bytes: Uint8Array
  /** Size of the whole file, in bytes. */
  readonly size: number
}

/** An entry of a folder. */
export interface RuntimeFile {
  readonly name: string
  readonly kind: 'file' | 'directory'
  readonly bytes: number
}
