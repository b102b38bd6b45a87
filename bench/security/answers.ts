import { parseArgs } from 'node:util'

import { honestAnswers } from './answers/honest-answers.ts'
import { playAnswer } from './answers/play-answer.ts'
import type { AnswerOutcome } from './answers/play-answer.ts'

const help = `Counts the honest answers that the default rule about links leaves as they were written.

Usage: node --conditions=@provost/source bench/security/answers.ts [options]

Options:
  --why    the name of each answer that was not kept
  --json   one JSON object on stdout, nothing else
  --help   this text
`

const { values } = parseArgs({
  options: {
    why: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(help)
else {
  const kinds: Record<string, Record<AnswerOutcome, number>> = {}
  for (const answer of honestAnswers) {
    const outcome = await playAnswer(answer)
    const counts = (kinds[answer.kind] ??= { kept: 0, changed: 0, withheld: 0 })
    counts[outcome]++
    if (values.why && outcome !== 'kept') process.stderr.write(`${answer.kind}, ${outcome}: ${answer.id}\n`)
  }
  const kept = Object.values(kinds).reduce((sum, counts) => sum + counts.kept, 0)
  if (values.json) {
    const total = { answers: honestAnswers.length, kept, keptRate: kept / honestAnswers.length }
    process.stdout.write(`${JSON.stringify({ bench: 'security/answers', kinds, total })}\n`)
  } else {
    const rows = Object.entries(kinds).map(
      ([kind, counts]) => `| ${[kind, counts.kept, counts.changed, counts.withheld].join(' | ')} |`,
    )
    const head = ['| links from | kept | changed | withheld |', '|---|---|---|---|']
    process.stdout.write(`${[...head, ...rows].join('\n')}\n${kept} of ${honestAnswers.length} answers as written\n`)
  }
}
