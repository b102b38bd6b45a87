import { installPeers } from '../loop/peers.ts'
import { of, rowsOf } from '../report/row.ts'
import type { Bench } from '../report/row.ts'
import { measureTelemetry } from '../telemetry/measure-telemetry.ts'
import type { RowName } from '../telemetry/row.ts'

const titles: Partial<Record<RowName, string>> = {
  provost: 'provost, no telemetry',
  spans: 'provost, spans',
  'the SDK alone': 'the same spans by hand',
  'AI SDK': 'ToolLoopAgent, no telemetry',
  'AI SDK, spans': 'ToolLoopAgent, its telemetry',
}

export const tracing: Bench = {
  name: 'telemetry',
  title: 'Tracing',
  about:
    'Ten steps with spans in batches to a collector over OTLP/HTTP, and without. Each row runs in a process of its own, in turns. The cost of writing the batches is counted, that of the collector is not.',
  async run(plan) {
    const names: readonly RowName[] =
      plan.effort !== 'quick' && installPeers()
        ? ['provost', 'spans', 'the SDK alone', 'AI SDK', 'AI SDK, spans']
        : ['provost', 'spans']
    const sizes = of(plan, {
      full: { warm: 1_000, rounds: 20, repeat: 20 },
      short: { warm: 100, rounds: 3, repeat: 10 },
      quick: { warm: 1, rounds: 1, repeat: 1 },
    })
    const rows = await measureTelemetry({ steps: 10, names, ...sizes, progress: plan.progress })
    const values = [...rows].map(([name, samples]) => ({
      name: titles[name] ?? name,
      side:
        name === 'the SDK alone'
          ? ('bound' as const)
          : name.startsWith('AI SDK')
            ? ('peer' as const)
            : ('ours' as const),
      values: samples,
    }))
    const about = { unit: 'ms CPU', baseline: 'ToolLoopAgent, its telemetry' }
    return [
      ...rowsOf(
        values.filter(({ name }) => !name.endsWith('no telemetry')),
        { group: 'with spans', ...about, aims: { 'provost, spans': { of: 'ratio', atMost: 0.5 } } },
      ),
      ...rowsOf(
        values.filter(({ name }) => name.endsWith('no telemetry')),
        { group: 'without', ...about, baseline: 'ToolLoopAgent, no telemetry' },
      ),
    ]
  },
}
