import { installSize } from './compare/install-size.ts'
import { deltas, durable, firstEvent, loop } from './compare/loop.ts'
import { memorySearch } from './compare/memory-search.ts'
import { compacting, resume, sandbox, sse, stores, taint } from './compare/parts.ts'
import { loopMemory, startUp, states } from './compare/states.ts'
import { tracing } from './compare/telemetry.ts'
import type { Bench } from './report/row.ts'

/** All benches, in the order of the page. */
export const benches: readonly Bench[] = [
  states,
  loop,
  loopMemory,
  deltas,
  firstEvent,
  durable,
  tracing,
  sandbox,
  taint,
  stores,
  resume,
  sse,
  compacting,
  memorySearch,
  startUp,
  installSize,
]
