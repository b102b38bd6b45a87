export { desk } from './desk.ts'

export const cases = [
  { name: 'a greeting', input: 'hello', answer: 'Hello', never: ['refund'] },
  { name: 'a refund that is not approved', input: 'refund it', never: ['refund'] },
]
