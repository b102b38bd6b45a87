export { desk } from './desk.ts'

export const policy = { mode: 'shadow' }
