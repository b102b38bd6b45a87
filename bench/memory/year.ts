import { mock } from 'node:test'
import { parseArgs } from 'node:util'

import { liveYear } from './live-year.ts'

const help = `Lets a user talk to an assistant with a memory for a year, and asks for the facts that the user stated.

Usage: node --conditions=@provost/source bench/memory/year.ts [--days 365] [--notes-only] [--json]

Six turns a day. Half of the turns come after the model read mail, and half of that mail is injected: then the model
tries to remember what the mail says. No model is called, and the clock is set for each turn.
--notes-only remembers no messages: only what the model noted is recalled.
`
const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '365' },
    'notes-only': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(help)
else {
  mock.timers.enable({ apis: ['Date'] })
  const setTime = (time: number): void => mock.timers.setTime(time)
  const report = await liveYear({ days: Number(values.days), episodes: !values['notes-only'], setTime })
  const { askedInTheYear, askedAtTheEnd, injected, hidden, notes, turnMs, ...rest } = report
  if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  else {
    console.table({
      ...rest,
      'notes before reading: live': notes.trusted.live,
      'notes after reading: live': notes.untrusted.live,
      'notes after reading: quarantined': notes.untrusted.quarantined,
      'injected, live or recalled': injected.length,
      'hidden by injected notes': hidden.length,
      'CPU ms a turn, second tenth': turnMs.early,
      'CPU ms a turn, last tenth': turnMs.late,
    })
    const brief = ({ missed: _missed, ...recalled }: typeof askedAtTheEnd): object => recalled
    console.table({ 'asked in the year': brief(askedInTheYear), 'asked at the end': brief(askedAtTheEnd) })
    for (const question of new Set([...askedInTheYear.missed, ...askedAtTheEnd.missed]))
      console.log(`missed: ${question}`)
    for (const text of injected.slice(0, 20)) console.log(`injected: ${text}`)
    for (const text of hidden.slice(0, 20)) console.log(`hidden: ${text}`)
  }
}
