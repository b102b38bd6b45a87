import type { ErrorInfo } from '../values/error.ts'

/** The first version of Node that the packages run on, as their `engines` say. */
const first = { major: 22, minor: 18 }

/** What names the runtime of this process. Browsers have no `versions`. */
export interface RunningProcess {
  readonly versions?: Readonly<Record<string, string | undefined>>
}

/**
 * Returns why this version of Node cannot run Provost, as data: error `unsupported-node`. `undefined` where it can, and on
 * other runtimes, which state a version of Node too. This file imports nothing, so that an old Node can load it.
 *
 * @param running default: this process.
 *
 * @example
 * const error = unsupportedNode()
 * if (error) process.stderr.write(`${error.message} ${error.hint}\n`)
 */
export function unsupportedNode(running: RunningProcess | undefined = globalThis.process): ErrorInfo | undefined {
  const { node, bun, deno } = running?.versions ?? {}
  const isWorker = globalThis.navigator?.userAgent === 'Cloudflare-Workers'
  if (node === undefined || bun !== undefined || deno !== undefined || isWorker) return undefined
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major > first.major || (major === first.major && minor >= first.minor)) return undefined
  return {
    code: 'unsupported-node',
    message: `Provost needs Node ${first.major}.${first.minor} or later, and this is Node ${node}.`,
    hint: 'Install a current version of Node, then repeat the command.',
  }
}
