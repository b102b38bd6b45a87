import { spawn } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

/** A PostgreSQL server for a test: an empty database of its own. */
export interface PostgresServer {
  /** URL of the database. */
  readonly url: string
  /** Path of the socket at which the server listens. */
  readonly socket: string
  /** Returns the URL of the database behind a port of the loopback interface: see `startTcpProxy`. */
  urlAt(port: number): string
  /** Removes the database and closes its connections. */
  stop(): Promise<void>
}

/** What all databases of this process share. */
interface Running {
  readonly folder: string
  /** Runs a program of the server on a database. */
  manage(program: 'createdb' | 'dropdb', ...args: readonly string[]): Promise<void>
}

let running: Promise<Running> | undefined
let databases = 0

/**
 * Finds the programs of PostgreSQL on this machine: on the PATH, or in Debian's folder.
 *
 * @returns undefined when PostgreSQL is not installed; tests that need it are then skipped.
 */
export function findPostgres(): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed(),
  ]
  return folders.find((folder) => folder && existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/**
 * Creates an empty database on a server with its own files, reachable only through a socket in their folder. The first
 * call starts the server and later calls share it. The server ends with this process, however that ends, and its files
 * are removed. It never syncs to disk: use it for tests only.
 *
 * @throws Error when PostgreSQL is not installed, or one of its programs fails.
 */
export async function startPostgres(): Promise<PostgresServer> {
  running ??= start()
  const { folder, manage } = await running
  const name = `test_${++databases}`
  await manage('createdb', name)
  return {
    url: `postgres://provost@/${name}?host=${encodeURIComponent(folder)}`,
    socket: join(folder, '.s.PGSQL.5432'),
    urlAt: (port) => `postgres://provost@127.0.0.1:${port}/${name}`,
    stop: () => manage('dropdb', '--force', name),
  }
}

async function start(): Promise<Running> {
  const found = findPostgres()
  if (found === undefined) throw new Error('PostgreSQL is not installed: there is no initdb on the PATH.')
  // The PATH may hold a link, whose folder lacks the other programs.
  const bin = dirname(realpathSync(join(found, 'initdb')))
  // The path of a socket has a short limit.
  const folder = mkdtempSync(join(tmpdir(), 'provost-pg-'))
  const owner = process.getuid?.() === 0 ? unprivileged() : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const options = { cwd: folder, ...owner }
  const run = (program: string, ...args: readonly string[]): Promise<void> =>
    finished(program, spawn(join(bin, program), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] }))
  const data = join(folder, 'data')
  try {
    const flags = ['-U', 'provost', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
    await run('initdb', '-D', data, ...flags)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'fsync=off', 'shared_buffers=32MB']
  const command = [join(bin, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  // The shell lives as long as its input is open: a killed test leaves neither a server nor files.
  const guarded =
    'folder=$1; shift; "$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server; rm -rf "$folder"'
  const server = spawn('sh', ['-c', guarded, 'sh', folder, ...command], {
    ...options,
    // In its own group: Ctrl-C in a terminal reaches the caller, which may still need the server, and not the shell.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await ready(server)
  // Later output is discarded, and does not keep the process alive.
  server.stderr.resume()
  server.unref()
  for (const pipe of [server.stdin, server.stderr]) if (pipe instanceof Socket) pipe.unref()
  return { folder, manage: (program, ...args) => run(program, '-h', folder, '-U', 'provost', ...args) }
}

type Child = ReturnType<typeof spawn>

function finished(program: string, child: Child): Promise<void> {
  let output = ''
  child.stderr?.on('data', (text: Buffer) => (output += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${program} failed: ${output}`))))
  })
}

function ready(child: Child): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => reject(new Error(`postgres did not start: ${output}`)))
    child.stderr?.on('data', (text: Buffer) => {
      output += text.toString()
      if (output.includes('ready to accept connections')) resolve()
    })
  })
}

/** The server refuses to run as root; every machine has one of these accounts. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'daemon']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}
