export type { Client, SessionRow, WaitRow } from './client-options.ts'
export { createClient } from './client.ts'
export type {
  ClientSession,
  ClientSessionOptions,
  CompensateOptions,
  ExecuteOptions,
  FollowOptions,
  SessionView,
} from './client-options.ts'
export type { ClientResult, ClientStream, SendOptions } from './client-options.ts'
export type { ClientTool } from './client-tool.ts'
export { ServerError } from './server-error.ts'
export type { Ask, Transport } from './transport.ts'
export type { ClientOptions } from './client-options.ts'
