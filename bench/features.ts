import { parseArgs } from 'node:util'

import { allChecks, knownMissing, newFaults, tryCheck, type Verdict } from './features/check.ts'

const help = `Tries the rows of the feature tables, each by its good path and by failures.

Usage: node --conditions=@provost/source bench/features.ts [ROW…] [options]

  A1 C6         these rows; a letter stands for a table: A

Options:
  --list        rows and titles, without running anything
  --limit 20    seconds that a row may take
  --json        one JSON object on stdout, nothing else
  --help        this text

The exit code is 1 where a row does not work, unless the fault is known: see features/check.ts.
`

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      limit: { type: 'string', default: '20' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const isAsked = (name: string, row: string): boolean => (/\d/u.test(name) ? row === name : row.startsWith(name))
  const all = await allChecks()
  const unknown = positionals.filter((name) => !all.some(({ row }) => isAsked(name, row)))
  const limitMs = Number(values.limit) * 1_000
  if (unknown.length > 0 || !(limitMs > 0)) {
    process.stderr.write(
      `Unknown rows: ${unknown.join(', ') || 'none'}; --limit takes seconds above 0.\nTry --help or --list.\n`,
    )
    process.exitCode = 2
    return
  }
  const asked = positionals.length === 0 ? all : all.filter(({ row }) => positionals.some((name) => isAsked(name, row)))
  if (values.list) {
    for (const { row, title } of asked) process.stdout.write(`${row}  ${title}\n`)
    return
  }
  const print = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`)
  print('| row | verdict | seen |\n| --- | --- | --- |')
  const verdicts: Verdict[] = []
  for (const one of asked) {
    const verdict = await tryCheck(one, limitMs)
    verdicts.push(verdict)
    print(rowOf(verdict))
  }
  const count = (verdict: Verdict['verdict']): number => verdicts.filter((one) => one.verdict === verdict).length
  print(`\n${verdicts.length} rows: ${count('works')} work, ${count('partly')} partly, ${count('missing')} missing.`)
  if (values.json) process.stdout.write(`${JSON.stringify({ bench: 'features', verdicts })}\n`)
  const bad = verdicts.some((verdict) => newFaults(verdict).length > 0 && !(verdict.row in knownMissing))
  // A row that fails may leave a server behind.
  process.stdout.write('', () => process.exit(bad ? 1 : 0))
}

function rowOf({ row, title, verdict, seen, faults }: Verdict): string {
  const cell = [...faults.map((fault) => `FAULT ${fault}`), ...(seen === '' ? [] : [seen])].join('; ')
  return `| ${row} ${title} | ${verdict} | ${cell.replaceAll('|', '\\|')} |`
}

await main()
