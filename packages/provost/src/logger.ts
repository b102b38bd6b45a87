// A logger that redacts secrets. Needs the package pino.
export { createLogger } from '@provost/telemetry/logger'
export type { LoggerOptions } from '@provost/telemetry/logger'
