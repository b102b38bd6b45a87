import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

/** An address on the loopback interface in front of others, such as that of a load balancer, which a test takes away. */
export interface TcpProxy {
  readonly port: number
  /** Where new connections go, in turn: ports of the loopback interface, or paths of sockets. */
  targets: readonly (number | string)[]
  /** Cuts all connections, and accepts none until {@link TcpProxy.carry}. */
  refuse(): void
  /** Keeps connections and accepts new ones, and loses what they carry, until {@link TcpProxy.carry}. */
  swallow(): void
  /** Carries connections again. Those that lost bytes are cut, as by a network that has forgotten them. */
  carry(): void
  /** Cuts all connections and frees the port. */
  close(): Promise<void>
}

/**
 * Starts a proxy on a free port, which carries connections until it is told to lose them.
 *
 * @param targets where connections go, in turn; none refuses them.
 *
 * @example
 * const database = await startPostgres()
 * const proxy = await startTcpProxy([database.socket])
 * const store = postgresStore(database.urlAt(proxy.port))
 * proxy.refuse() // the store cannot reach its database
 * proxy.carry()
 */
export async function startTcpProxy(targets: readonly (number | string)[] = []): Promise<TcpProxy> {
  const open = new Set<Socket>()
  let mode: 'carries' | 'refuses' | 'swallows' = 'carries'
  let next = 0

  function cut(): void {
    for (const socket of open) socket.destroy()
  }

  const server: Server = createServer((near) => {
    const target = proxy.targets[next++ % Math.max(1, proxy.targets.length)]
    if (mode === 'refuses' || target === undefined) return void near.destroy()
    const far = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target)
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      open.add(from)
      from.on('data', (bytes) => {
        if (mode === 'swallows' || to.write(bytes)) return
        from.pause()
        to.once('drain', () => from.resume())
      })
      from.on('end', () => to.end())
      from.on('error', () => {})
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
    }
    return undefined
  })

  const proxy: TcpProxy = {
    port: 0,
    targets,
    refuse() {
      mode = 'refuses'
      cut()
    },
    swallow() {
      mode = 'swallows'
    },
    carry() {
      if (mode === 'swallows') cut()
      mode = 'carries'
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return Object.assign(proxy, { port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
}
