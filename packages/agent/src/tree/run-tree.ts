import type { RunTree } from '../types/run-tree.ts'
import { createByteMeter } from './byte-meter.ts'

/** Creates the shared state of a root's run. */
export function createTree(): RunTree {
  return {
    children: new Map(),
    logs: new Map(),
    letters: new Map(),
    reservations: new Map(),
    waiters: new Set(),
    taken: 0,
    meter: createByteMeter(),
  }
}
