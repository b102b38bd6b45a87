import { spawn } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

/** A PostgreSQL server as a test sees it: an empty database that is its own. */
export interface PostgresServer {
  /** Of the database. */
  readonly url: string
  /** Removes the database, whoever is connected to it. */
  stop(): Promise<void>
}

/** What runs for all databases of this process. */
interface Running {
  readonly folder: string
  /** Runs one of the server's programs on a database. */
  manage(program: 'createdb' | 'dropdb', ...args: readonly string[]): Promise<void>
}

let running: Promise<Running> | undefined
let databases = 0

/**
 * Where PostgreSQL's own programs are on this machine: on the PATH, or where Debian puts them.
 *
 * @returns undefined when there is none: tests that need it are skipped then.
 */
export function findPostgres(): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed(),
  ]
  return folders.find((folder) => folder && existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/**
 * An empty database on a server with files of its own, which is reached through a socket in their folder and by nobody
 * else. The first call starts the server, the others share it; it ends with this process, however that ends, and so do
 * its files. Nothing is forced to the disk: it is for tests.
 *
 * @throws Error when there are no programs, or they fail.
 */
export async function startPostgres(): Promise<PostgresServer> {
  running ??= start()
  const { folder, manage } = await running
  const name = `test_${++databases}`
  await manage('createdb', name)
  return {
    url: `postgres://provost@/${name}?host=${encodeURIComponent(folder)}`,
    stop: () => manage('dropdb', '--force', name),
  }
}

async function start(): Promise<Running> {
  const found = findPostgres()
  if (found === undefined) throw new Error('PostgreSQL is not installed: there is no initdb on the PATH.')
  // What is on the PATH may be a link, beside which there are not all of its programs.
  const bin = dirname(realpathSync(join(found, 'initdb')))
  // A socket has a short name.
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
  // The shell lives as long as its input is open: a test that is killed leaves no server behind, and no files.
  const guarded =
    'folder=$1; shift; "$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server; rm -rf "$folder"'
  const server = spawn('sh', ['-c', guarded, 'sh', folder, ...command], {
    ...options,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await ready(server)
  // What it has to say from now on nobody reads, and for it alone no process stays.
  server.stderr.resume()
  server.unref()
  for (const pipe of [server.stdin, server.stderr]) if (pipe instanceof Socket) pipe.unref()
  return { folder, manage: (program, ...args) => run(program, '-h', folder, '-U', 'provost', ...args) }
}

type Child = ReturnType<typeof spawn>

function finished(program: string, child: Child): Promise<void> {
  let said = ''
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${program} failed: ${said}`))))
  })
}

function ready(child: Child): Promise<void> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => reject(new Error(`postgres did not start: ${said}`)))
    child.stderr?.on('data', (text: Buffer) => {
      said += text.toString()
      if (said.includes('ready to accept connections')) resolve()
    })
  })
}

/** The server refuses to run as root; one of these is on every machine. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}
