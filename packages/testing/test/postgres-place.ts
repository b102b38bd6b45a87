import type { EnginePlace } from '@provost/testing'
import { startPostgres, startTcpProxy } from '@provost/testing'

/** A database for a conformance check of an engine, behind a proxy that takes it away. */
export interface PostgresPlace extends Required<Pick<EnginePlace, 'takeStoreAway' | 'remove'>> {
  /** The URL of the database. */
  readonly storeAt: string
}

/** Creates an empty database. PostgreSQL has to be installed. */
export async function postgresPlace(): Promise<PostgresPlace> {
  const server = await startPostgres()
  const proxy = await startTcpProxy([server.socket])
  return {
    storeAt: server.urlAt(proxy.port),
    takeStoreAway(outage) {
      if (outage === 'refused') proxy.refuse()
      else proxy.swallow()
      return () => proxy.carry()
    },
    async remove() {
      await proxy.close()
      await server.stop()
    },
  }
}
