import { spawn } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** A PostgreSQL server that a test started. */
export interface PostgresServer {
  /** Of a database in it. */
  readonly url: string
  /** Ends the server and removes its files. */
  stop(): Promise<void>
}

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
 * Starts a server on files of its own, which is reached through a socket in their folder and by nobody else. It ends
 * with this process, however that ends. Nothing is forced to the disk: it is for tests.
 *
 * @throws Error when there are no programs, or they fail.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = findPostgres()
  if (bin === undefined) throw new Error('PostgreSQL is not installed: there is no initdb on the PATH.')
  // A socket has a short name.
  const folder = mkdtempSync(join(tmpdir(), 'provost-pg-'))
  const owner = process.getuid?.() === 0 ? unprivileged() : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const options = { cwd: folder, ...owner }
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const flags = ['-U', 'provost', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
    await finished(
      spawn(join(bin, 'initdb'), ['-D', data, ...flags], { ...options, stdio: ['ignore', 'ignore', 'pipe'] }),
    )
  } catch (error) {
    remove()
    throw error
  }
  const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'fsync=off', 'shared_buffers=32MB']
  const command = [join(bin, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  // The shell lives as long as its input is open: a test that is killed leaves no server behind.
  const guarded = '"$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server'
  const server = spawn('sh', ['-c', guarded, 'sh', ...command], { ...options, stdio: ['pipe', 'ignore', 'pipe'] })
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await ready(server)
  // What it has to say from now on nobody reads.
  server.stderr.resume()
  server.unref()
  return {
    url: `postgres://provost@/postgres?host=${encodeURIComponent(folder)}`,
    async stop() {
      server.ref()
      server.stdin.end()
      await ended
      remove()
    },
  }
}

type Child = ReturnType<typeof spawn>

function finished(child: Child): Promise<void> {
  let said = ''
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`initdb failed: ${said}`))))
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
