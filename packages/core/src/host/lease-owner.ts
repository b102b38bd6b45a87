import { uuidv7 } from '../values/id.ts'

/** Characters of a host name at most, so that the owner fits into any store. */
const longestHost = 100

let name: string | undefined

/** Returns the name of this process among those that share a store: host and process id, such as `web-1:4711`. */
export function processName(): string {
  return (name ??= `${hostName()}:${globalThis.process?.pid ?? 0}`)
}

/**
 * Returns a new owner for a lease of `store.lease`. It begins with {@link processName}, so that operators see which process
 * holds a session.
 *
 * @example
 * const lease = await store.lease(log, leaseOwner(), 10_000)
 */
export function leaseOwner(): string {
  return `${processName()}/${uuidv7()}`
}

/** Returns the process in an owner that {@link leaseOwner} made; undefined for other owners. */
export function processOfOwner(owner: string): string | undefined {
  return /^(.+:\d+)\/[^/]+$/u.exec(owner)?.[1]
}

/** The name of this machine. Browsers and some other runtimes have none. */
function hostName(): string {
  try {
    const found = globalThis.process?.getBuiltinModule?.('node:os').hostname() ?? ''
    return found.replaceAll(/[^\w.-]/gu, '').slice(0, longestHost) || 'unknown'
  } catch {
    return 'unknown'
  }
}
