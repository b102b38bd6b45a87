import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A Restate server for a test, on ports of the loopback interface. */
export interface RestateServer {
  readonly ingress: string
  readonly admin: string
  /** The folder of its data. */
  readonly folder: string
  /** Id of its process. */
  readonly pid: number
  /** Kills the server, as a crash does. Its data stays. */
  kill(): Promise<void>
  /** Starts it again on the same ports, with its data. */
  restart(): Promise<void>
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

/**
 * Finds the binary of a Restate server: `RESTATE_SERVER` in the environment, or a platform package installed in `folder`.
 *
 * @param folder with a `node_modules`. Default: the working directory.
 * @returns undefined when there is none; tests that need it are then skipped.
 */
export function findRestate(folder: string = process.cwd()): string | undefined {
  const given = process.env['RESTATE_SERVER']
  if (given !== undefined) return existsSync(given) ? given : undefined
  const platform = `${process.platform}-${process.arch}`
  const [found] = globSync(
    `node_modules/{,.pnpm/*/node_modules/}@restatedev/restate-server-${platform}/bin/restate-server`,
    {
      cwd: folder,
    },
  )
  return found === undefined ? undefined : join(folder, found)
}

/**
 * Starts a Restate server with its own data. It is reachable from this machine only, and sends no telemetry. It ends with
 * this process, however that ends.
 *
 * @param binary what `findRestate` found.
 * @param more settings as environment variables: `RESTATE_…`.
 * @throws Error when it does not start within 60 seconds.
 */
export async function startRestate(
  binary: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RestateServer> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-restate-'))
  const [ingressPort, adminPort, nodePort] = await freePorts(3)
  const [ingress, admin] = [`http://127.0.0.1:${ingressPort}`, `http://127.0.0.1:${adminPort}`]
  let child: ChildProcess | undefined
  let output = ''

  async function start(): Promise<void> {
    // The shell lives as long as its input is open: a killed test leaves no server.
    const guarded = '"$@" & server=$!; echo $server; cat >/dev/null; kill -KILL $server'
    const server = spawn('sh', ['-c', guarded, 'sh', binary, '--base-dir', folder], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // In its own group: Ctrl-C in a terminal reaches the caller, and not the server.
      detached: true,
      env: {
        PATH: process.env['PATH'] ?? '',
        RUST_BACKTRACE: '0',
        RESTATE_LOG_FILTER: 'warn',
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LISTEN_MODE: 'tcp',
        RESTATE_DEFAULT_NUM_PARTITIONS: '4',
        RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256MiB',
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
        RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
        ...more,
      },
    })
    child = server
    output = ''
    for (const pipe of [server.stdout, server.stderr])
      pipe.on('data', (text: Buffer) => (output = `${output}${text.toString()}`.slice(-20_000)))
    for (let tries = 0; ; tries++) {
      if (server.exitCode !== null || tries === 600) throw new Error(`restate-server did not start: ${output}`)
      const isReady = await fetch(`${admin}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (
        isReady &&
        (await fetch(`${ingress}/restate/health`).then(
          ({ ok }) => ok,
          () => false,
        ))
      )
        return
      await pause(100)
    }
  }

  const pidOf = (): number => Number(/^\d+/.exec(output)?.[0] ?? 0)

  async function kill(): Promise<void> {
    const server = child
    child = undefined
    if (!server || server.exitCode !== null) return
    const ended = new Promise((resolve) => server.once('close', resolve))
    server.stdin?.end()
    await ended
  }

  await start()
  return {
    ingress,
    admin,
    folder,
    get pid() {
      return pidOf()
    },
    kill,
    restart: start,
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns ports of the loopback interface that are free at present. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
