export * from './memory-store.ts'
export * from './repair.ts'
export { sessionInfo } from './session-info.ts'
export * from './sqlite-store.ts'
