import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { storeClosed } from '@provost/sessions/kit'
import { connectPostgres } from '@provost/sessions/postgres'
import type { PostgresConnection } from '@provost/sessions/postgres'
import { startTcpProxy } from '@provost/testing'
import type { PostgresServer } from '@provost/testing'

/** A server of `startPostgres` behind a TCP proxy, with the ways in which it can go away. */
export interface FailingPostgres {
  readonly url: string
  /** Each way takes the database away for a time, and gives it back. */
  readonly ways: Readonly<Record<'refuse' | 'swallow' | 'restart' | 'freeze' | 'exhaust' | 'read-only', Outage>>
  close(): Promise<void>
}

export type Outage = (ms: number) => Promise<void>

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function failing(server: PostgresServer): Promise<FailingPostgres> {
  const folder = dirname(server.socket)
  const proxy = await startTcpProxy([server.socket])
  const url = server.urlAt(proxy.port)

  const connected = (connections: number): PostgresConnection<undefined> =>
    connectPostgres({
      ...{ url, connections, caller: 'the test', packages: ['pg'], content: 'the test' },
      prepare: async () => undefined,
      closed: storeClosed,
    })

  async function asAdmin(...statements: readonly string[]): Promise<void> {
    const admin = connected(1)
    for (const text of statements) await admin.query(undefined, text, [])
    await admin.close()
  }

  const processes = (): readonly number[] => {
    const [postmaster] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    const children = globSync('/proc/[0-9]*/stat').flatMap((path) => {
      try {
        const [pid, rest = ''] = readFileSync(path, 'utf8').split(' (')
        return rest.split(') ')[1]?.split(' ')[1] === postmaster ? [Number(pid)] : []
      } catch {
        return []
      }
    })
    return [Number(postmaster), ...children]
  }

  async function postgres(program: string, ...args: readonly string[]): Promise<void> {
    const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed()
    const { uid, gid } = statSync(join(folder, 'data'))
    const child = spawn(join(bin, program), args, { cwd: folder, uid, gid, stdio: 'ignore' })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${program} failed`)
  }

  return {
    url,
    ways: {
      async refuse(ms) {
        proxy.refuse()
        await pause(ms)
        proxy.carry()
      },
      async swallow(ms) {
        proxy.swallow()
        await pause(ms)
        proxy.carry()
      },
      async restart() {
        const log = join(folder, 'data', 'restart.log')
        await postgres('pg_ctl', 'restart', '-w', '-m', 'immediate', '-D', join(folder, 'data'), '-l', log)
      },
      async freeze(ms) {
        const frozen = processes()
        for (const pid of frozen) process.kill(pid, 'SIGSTOP')
        await pause(ms)
        for (const pid of frozen) process.kill(pid, 'SIGCONT')
      },
      async exhaust(ms) {
        await asAdmin(
          'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename is not null',
        )
        const hogs = connected(120)
        const held = Array.from({ length: 120 }, () => hogs.query(undefined, `select pg_sleep(${ms / 1000})`, []))
        // The server has no place for the last ones.
        await Promise.allSettled(held)
        await hogs.close()
      },
      async 'read-only'(ms) {
        const set = (value: 'on' | 'off'): Promise<void> =>
          asAdmin(`alter system set default_transaction_read_only = ${value}`, 'select pg_reload_conf()')
        await set('on')
        await pause(ms)
        await set('off')
      },
    },
    close: () => proxy.close(),
  }
}
