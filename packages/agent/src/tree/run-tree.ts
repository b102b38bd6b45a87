import type { RunTree } from '../types/run-tree.ts'
import { createByteMeter } from './byte-meter.ts'

/** Creates the shared state of a root's run. */
export function createTree(): RunTree {
  return {
    children: new Map(),
    childLogs: new Map(),
    inboxes: new Map(),
    reservations: new Map(),
    reservationWaiters: new Set(),
    reservationCount: 0,
    meter: createByteMeter(),
    effectSession: '',
    hasOpenEffects: false,
  }
}
