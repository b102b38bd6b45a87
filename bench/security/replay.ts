import { parseArgs } from 'node:util'

import type { Extension } from 'provost'
import { dataFlowPolicy, presets, trustedOutputs } from 'provost/governance'
import type { DataFlowRule, OutputTrust } from 'provost/governance'

import { earlierSuites } from './earlier/suites.ts'
import { lastSuites } from './last/suites.ts'
import { ownSuites } from './own/suites.ts'
import { countsOf, rated } from './replay/counts.ts'
import type { Counts, Rated } from './replay/counts.ts'
import { gathered } from './replay/gather.ts'
import { toolOrigins } from './replay/play.ts'
import { readSuites, readTrust } from './replay/suite.ts'
import type { Suite } from './replay/suite.ts'
import { variants } from './replay/variant.ts'

const help = `Replays recorded tasks and attacks through the runtime and counts what a policy does about them.

Usage: node --conditions=@provost/source bench/security/replay.ts DIR [options]
       node --conditions=@provost/source bench/security/replay.ts --own [options]

DIR holds suites as JSON files: tools with the roles of their arguments, tasks of users, and attacks. The model makes
exactly the calls that are recorded, the tools give exactly the outputs that are recorded. A task with "turns" is a
conversation: [{ text, said, before }], the further messages of the human, what the assistant had said before each, and
the index of the call that follows it.

Options:
  --own             instead of a folder the suites written for this repository: ${ownSuites.map(({ suite }) => suite).join(', ')}
  --earlier         instead of a folder the suites that were written last for an earlier release
  --last            instead of a folder the suites that were written last; measure them once, when the rules are done
  --rules NAME      intent (default) or classic
  --without RULE    leaves a rule out, to see what it is good for; may be given several times
  --tools ORIGIN    own (default); mcp: as an MCP server gives them; mcp-reads: those that read lowered by name;
                    mcp-lowered: with effects, roles and labels set by name; mcp-changed: not accepted
  --contracts HOW   words (default), once (a text that the user wants followed is one question), off, or the model that
                    derives them as PROVIDER/MODEL
  --trust FILE      declarations of an operator by suite: { "retail": { "get_order": "trusted" } }
  --variant NAME    rewrites the attacks first: ${Object.keys(variants).join(', ')}
  --steps HOW       recorded (default); gathered: neighbouring calls of one tool are one step, as of a model that calls
                    tools in parallel, if none takes a value from the result of another. Their questions are one batch
  --why             one line for each call of a task that was touched and each attack that got through
  --json            one JSON object on stdout, nothing else
  --help            this text
`

const ruleSets: Readonly<Record<string, readonly DataFlowRule[]>> = presets

/** The extensions of a replay, given the declarations for its suite. */
type Governed = (trust: OutputTrust | undefined) => readonly Extension<unknown>[]

function policyFor(name: string, without: readonly string[], contracts: string): Governed {
  const all = ruleSets[name]
  if (!all) throw new Error(`There are no rules ${name}; there are ${Object.keys(ruleSets).join(' and ')}.`)
  for (const rule of without) {
    if (!all.some((one) => one.name === rule))
      throw new Error(`There is no rule ${rule} among them: ${all.map((one) => one.name).join(', ')}.`)
  }
  const rules = all.filter((rule) => !without.includes(rule.name))
  const derived =
    contracts === 'off'
      ? false
      : contracts === 'words'
        ? undefined
        : contracts === 'once'
          ? { delegation: 'once' as const }
          : { planner: contracts }
  return (trust) => [
    dataFlowPolicy({ mode: 'enforce', rules, ...(derived !== undefined && { contracts: derived }) }),
    ...(trust ? [trustedOutputs(trust)] : []),
  ]
}

function row(name: string, { attacks, benign, silentRate, untouchedRate, ...rates }: Rated): string {
  const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`
  const cells = [attacks.total, attacks.blocked, attacks.asked, attacks.silent, percent(silentRate)]
  const each = [rates.questionsPerTask, rates.waitsPerTask, rates.denialsPerTask].map((rate) => rate.toFixed(2))
  const tasks = [benign.total, benign.untouched, benign.asked, benign.blocked, percent(untouchedRate), ...each]
  return `| ${[name, ...cells, ...tasks].join(' | ')} |`
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    own: { type: 'boolean', default: false },
    earlier: { type: 'boolean', default: false },
    last: { type: 'boolean', default: false },
    rules: { type: 'string', default: 'intent' },
    without: { type: 'string', multiple: true, default: [] },
    contracts: { type: 'string', default: 'words' },
    trust: { type: 'string' },
    variant: { type: 'string', default: 'as-recorded' },
    tools: { type: 'string', default: 'own' },
    steps: { type: 'string', default: 'recorded' },
    why: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const [folder] = positionals
if (values.help || [folder !== undefined, values.own, values.earlier, values.last].filter(Boolean).length !== 1) {
  process.stdout.write(help)
  process.exitCode = values.help ? 0 : 1
} else {
  const rewrite = variants[values.variant]
  if (!rewrite) throw new Error(`There is no variant ${values.variant}; there are ${Object.keys(variants).join(', ')}.`)
  const origin = toolOrigins.find((one) => one === values.tools)
  if (!origin) throw new Error(`There are no tools ${values.tools}; there are ${toolOrigins.join(', ')}.`)
  if (values.steps !== 'recorded' && values.steps !== 'gathered')
    throw new Error(`There are no steps ${values.steps}; there are recorded and gathered.`)
  const steps = values.steps === 'gathered' ? gathered : (suite: Suite) => suite
  const policy = policyFor(values.rules, values.without, values.contracts)
  const trust = values.trust === undefined ? {} : readTrust(values.trust)
  const suites: Record<string, Rated> = {}
  const all: Counts[] = []
  const repository = values.last ? lastSuites : values.earlier ? earlierSuites : ownSuites
  for (const suite of folder === undefined ? repository : readSuites(folder)) {
    const counts = await countsOf(
      rewrite(steps(suite)),
      () => policy(trust[suite.suite]),
      origin,
      (line) => {
        if (values.why) process.stderr.write(`${line}\n`)
      },
    )
    all.push(counts)
    suites[suite.suite] = rated([counts])
  }
  const total = rated(all)
  if (values.json) {
    const report = {
      bench: 'security/replay',
      rules: values.rules,
      without: values.without,
      contracts: values.contracts,
      trust,
      variant: values.variant,
      tools: origin,
      steps: values.steps,
      suites,
      total,
    }
    process.stdout.write(`${JSON.stringify(report)}\n`)
  } else {
    const lines = [
      `rules: ${values.rules}, variant: ${values.variant}, tools: ${origin}`,
      '| suite | attacks | blocked | asked | silent | silent rate | tasks | untouched | asked | blocked | untouched rate | questions a task | calls asked about a task | denials a task |',
      '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|',
      ...Object.entries(suites).map(([name, counts]) => row(name, counts)),
      row('total', total),
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
  }
}
