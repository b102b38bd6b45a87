import type { ServerOptions } from './server-options.ts'
import type { WorkOptions } from './work-options.ts'

/** Options of `createWorker`. */
export interface WorkerOptions
  extends WorkOptions, Pick<ServerOptions, 'agents' | 'context' | 'requestOptions' | 'onError'> {}
