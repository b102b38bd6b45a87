export type { ChatOptions } from './options/chat-options.ts'
export type { ConsoleMemory, ConsoleMemoryItem } from './options/console-memory.ts'
export type { ConsoleOptions, ConsolePage } from './options/console-options.ts'
export type { ExecuteComplete } from './sessions/completion.ts'
export type { Limits } from './options/limits.ts'
export { defaultLimits } from './options/limits.ts'
export type { RemoteToolInit } from './sessions/remote-tool.ts'
export type { Listening } from './server/serve.ts'
export type { ServeOptions } from './options/serve-options.ts'
export { serve } from './server/serve.ts'
export type { Server } from './options/server.ts'
export { createServer } from './server/server.ts'
export type {
  ApprovalOptions,
  ApprovalQuestion,
  ApprovalRule,
  OperatorGrant,
  OperatorRole,
  Via,
} from './options/approval-options.ts'
export type { Worker } from './server/worker.ts'
export { createWorker } from './server/worker.ts'
export type { WorkOptions } from './options/work-options.ts'
export type { WorkerOptions } from './options/worker-options.ts'
export type { WaitRow } from './approvals/wait-inbox.ts'
export type { Action, DecideAction, ErrorPlace, ServerOptions } from './options/server-options.ts'
export type { RequestOptions } from './options/request-options.ts'
