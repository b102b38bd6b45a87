import process from 'node:process'

import type { SoakOutcome } from './soak.ts'

/** Returns the page with the figures of a soak. */
export function soakPage(outcome: SoakOutcome): string {
  const { seed, minutes, store, atOnce, workers, samples, violations } = outcome
  const { sessions, completed, failed, aborted, waiting, effects, distinctEffects, verified } = outcome
  const { killedWorkers, drains, outages, quarantined, heapMb, rssMb } = outcome
  const kind = store === 'postgres' ? 'PostgreSQL' : 'SQLite'
  const rows = [
    ['sessions', sessions],
    ['completed as planned', completed],
    ['failed as planned: the provider refuses the last step', failed],
    ['ended by an abort', aborted],
    ['wait for an answer that never comes', waiting],
    ['payments, and different ones', `${effects}, ${distinctEffects}`],
    ['audit chains that verify', verified],
    ['workers killed', killedWorkers],
    ['workers drained', drains],
    ['outages of the store', outages],
    ['sessions released from quarantine', quarantined],
    ['heap of the spared worker, second and last quarter', `${heapMb[0]} and ${heapMb[1]} MB`],
    ['its memory, second and last quarter', `${rssMb[0]} and ${rssMb[1]} MB`],
    ['measurements of its memory', samples],
  ]
  const missed = violations.map((text) => `- ${text}`)
  return `# Soak: figures

${violations.length === 0 ? 'Everything that a soak checks held' : `Of what a soak checks, ${violations.length} did not hold`} over ${minutes} minutes: ${workers} workers and ${kind}, ${atOnce} sessions in progress, seed ${seed}.

\`npm run soak -- --minutes 60 --json > soak.json\` runs a soak, and \`npm run soak -- --page soak.json > docs/soak-figures.md\` writes this page.
Measured with Node ${process.versions.node}.

| measured | figure |
| --- | ---: |
${rows.map(([name, figure]) => `| ${name} | ${figure} |`).join('\n')}
${missed.length > 0 ? `\n## What did not hold\n\n${missed.join('\n')}\n` : ''}
## What a soak does

A session pays by itself, after an approval, from a script, and after the provider was busy or cut its stream. It asks two children, and reads
hostile outputs: control characters, 200 kB of orders, 20,000 levels of JSON, errors, \`NaN\`. A number decides which of these a session does, in what
order, and whether its questions are approved, denied or never answered. 8 % of the sessions are aborted within their first four seconds, and of 5 % the
provider refuses the last step.

Meanwhile a worker is killed (75 % of the disturbances), drained (15 %), or the store is away for up to 3.5 seconds (10 %), which refuses
connections or stays silent. One worker is spared: its memory is measured after a collection every ten seconds.

## What it checks

- Each session ends as planned, or waits for the answer that never comes. Only sessions that were told to abort end as aborted, and none of them
  continues after its log took the abort.
- Each planned payment is made once. An aborted session makes at most those that were planned.
- The audit chain of each session verifies from its export alone.
- The heap of the spared worker grows by at most a tenth between the second and the last quarter of the time, and its memory by a quarter.
- Processes that close have nothing open: no timer, no socket, no thread.
`
}
