import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

/** An address in front of others, as a load balancer is, that can be taken away. */
export interface Balancer {
  readonly port: number
  /** Where connections go, in turn. */
  targets: readonly (number | string)[]
  /** Refuses and cuts all connections until `back`. */
  away(): void
  back(): void
  close(): Promise<void>
}

/** Starts a balancer on a free port of the loopback interface. */
export async function startBalancer(targets: readonly (number | string)[] = []): Promise<Balancer> {
  const open = new Set<Socket>()
  let isAway = false
  let next = 0
  const balancer = { port: 0, targets, away, back, close }
  const server: Server = createServer((socket) => {
    const target = balancer.targets[next++ % Math.max(1, balancer.targets.length)]
    if (isAway || target === undefined) return void socket.destroy()
    const upstream = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target)
    const end = (): void => {
      for (const one of [socket, upstream]) {
        one.destroy()
        open.delete(one)
      }
    }
    for (const one of [socket, upstream]) {
      open.add(one)
      one.on('error', end)
      one.on('close', end)
    }
    socket.pipe(upstream).pipe(socket)
  })

  function cut(): void {
    for (const one of open) one.destroy()
  }

  function away(): void {
    isAway = true
    cut()
  }

  function back(): void {
    isAway = false
  }

  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve))
    cut()
    await closed
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address === 'object' && address) balancer.port = address.port
  return balancer
}
