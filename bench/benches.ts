import { installSize } from './compare/install-size.ts'
import { deltas, durable, firstEvent, loop } from './compare/loop.ts'
import { loopMemory, startUp, states } from './compare/states.ts'
import type { Bench } from './report/row.ts'

/** All benches, in the order of the page. */
export const benches: readonly Bench[] = [states, loop, loopMemory, deltas, firstEvent, durable, startUp, installSize]
