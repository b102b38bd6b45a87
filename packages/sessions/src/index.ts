export * from './memory-store.ts'
export * from './session-info.ts'
export * from './repair.ts'
