import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A server that a test started. */
export interface Running {
  readonly url: string
  /** What it wrote on stderr so far. */
  stderr(): string
  /** Sends a signal, and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Starts a program in a folder, and waits until a line of it names its address.
 *
 * @param address matches the port, or a URL with it, in what the program prints.
 */
export async function startProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
  address: RegExp,
): Promise<Running> {
  const { NODE_OPTIONS: _, PROVOST_MODEL: __, DATABASE_URL: ___, ...own } = process.env
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: { ...own, ...env }, stdio: 'pipe' })
  let [out, err] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const closed = once(child, 'close')
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const found = address.exec(out)
      if (found?.[1] !== undefined) resolve(found[1])
    })
    void closed.then(() => reject(new Error(`It ended without an address: ${out}${err}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    stderr: () => err,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = await closed
      return code
    },
  }
}
