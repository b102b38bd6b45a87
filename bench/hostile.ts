import { parseArgs } from 'node:util'

import { corpus } from './hostile/corpus.ts'
import { columns, faultsOf, pageOf, rowOf } from './hostile/table.ts'
import type { Visit } from './hostile/visit.ts'
import { visits } from './hostile/visit.ts'

const help = `Passes hostile inputs through public doors: outcome, longest event-loop gap, CPU, memory and bytes logged of each.

Usage: node --conditions=@provost/source bench/hostile.ts [options]

Options:
  --only TEXT    inputs whose name contains this; repeatable
  --list         names, doors and expected outcomes, without running anything
  --timeout 15   seconds without a turn of the event loop after which a process is killed; another one takes the next input
  --json         one JSON object on stdout, nothing else
  --markdown     the page docs/hostile-figures.md on stdout
  --profile DIR  CPU profiles of the processes that take the inputs
  --help         this text

The exit code is 1 where an input does not hold.
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
      timeout: { type: 'string', default: '15' },
      json: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const timeoutMs = Number(values.timeout) * 1_000
  const inputs = corpus.filter(
    ({ name }) => values.only.length === 0 || values.only.some((part) => name.includes(part)),
  )
  if (!(timeoutMs > 0) || inputs.length === 0) {
    process.stderr.write('--timeout takes seconds above 0, --only a part of a name.\nTry --help or --list.\n')
    process.exitCode = 2
    return
  }
  if (values.list) {
    for (const { name, door, expect } of inputs) process.stdout.write(`${name}  (${door}: ${expect.join(', ')})\n`)
    return
  }
  const plain = !values.json && !values.markdown
  const print = (line: string): void => void (plain ? process.stdout : process.stderr).write(`${line}\n`)
  print(`  ${columns}`)
  const all: Visit[] = []
  const execArgv = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`]
  for await (const visit of visits(inputs, { timeoutMs, execArgv })) {
    all.push(visit)
    print(rowOf(visit))
  }
  const faults = all.filter((visit) => faultsOf(visit).length > 0)
  if (values.json)
    process.stdout.write(
      `${JSON.stringify({ bench: 'hostile', inputs: all.length, holds: all.length - faults.length, visits: all })}\n`,
    )
  const date = new Date().toISOString().slice(0, 10)
  if (values.markdown) process.stdout.write(pageOf(all, { node: process.versions.node, date }))
  print(`\n${all.length} inputs, ${all.length - faults.length} hold, ${faults.length} do not.`)
  for (const visit of faults) print(`  ${visit.name}: ${faultsOf(visit).join('; ')}`)
  if (faults.length > 0) process.exitCode = 1
}

await main()
