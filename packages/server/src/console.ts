export * from './console/console-answer.ts'
export * from './console/console-schema.ts'
