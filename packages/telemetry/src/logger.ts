// Needs the package pino.
export type { LoggerOptions } from './extension/logger.ts'
export { createLogger } from './extension/logger.ts'
