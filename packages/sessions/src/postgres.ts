// The connection that stores in PostgreSQL share.
export { connectPostgres } from './postgres/postgres-connection.ts'
export type { PostgresConnection, PostgresConnectionOptions, PostgresQuery } from './postgres/postgres-connection.ts'
