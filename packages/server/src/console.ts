export * from './console-answers/console-answer.ts'
export * from './console-answers/console-schema.ts'
export * from './console-answers/insight-answer.ts'
export * from './console-answers/insight-schema.ts'
