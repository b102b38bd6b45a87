export { createTaintIndex } from './taint-index.ts'
export type { TaintEncoding, TaintHit, TaintIndex, TaintIndexOptions, TaintStats } from './taint-index.ts'
