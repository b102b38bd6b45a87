import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

import type { KnownKeys } from '@provost/core'
import { checkOptions, displayText, ProvostError, toErrorInfo } from '@provost/core'

import { verifyAudit } from '../audit/verify-audit.ts'
import type { OfflineVerdict } from './judged-call.ts'
import type { PolicyFile, PolicyFormat } from './policy-file.ts'
import { readPolicyFile } from './policy-file.ts'
import type { PolicyReport } from './policy-report.ts'
import { reportPolicy } from './policy-report.ts'
import { policyReportText, policyTestText } from './policy-text.ts'
import { policyUsage } from './policy-usage.ts'
import type { PolicyTest } from './test-policy.ts'
import { testPolicy } from './test-policy.ts'

/** Options of {@link policyCommand}. */
export interface PolicyCommandOptions {
  /** Receives the output. Default: standard output. */
  readonly print?: (text: string) => void
  /** Rule makers of policy files in other languages, by the ending of their names: `{ '.cedar': … }`. */
  readonly formats?: Readonly<Record<string, PolicyFormat>>
  /** The key of the audit links in the logs, if they have one. */
  readonly auditKey?: string | Uint8Array
}

const optionKeys = { print: true, formats: true, auditKey: true } satisfies KnownKeys<PolicyCommandOptions>

/** An error with the exit code of the command. */
class CommandError extends Error {
  readonly exitCode: 2 | 3
  constructor(exitCode: 2 | 3, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * Runs `policy test` or `policy report` and returns the exit code: 0 passed, 1 failed, 2 unreadable log or broken audit,
 * 3 invalid policy or arguments.
 *
 * @param argv the arguments after the name of the command: `['test', 'ann.jsonl', '--policy', 'policy.ts']`.
 *
 * @example
 * process.exitCode = await policyCommand(process.argv.slice(2))
 */
export async function policyCommand(
  argv: readonly string[],
  options: PolicyCommandOptions = {},
): Promise<0 | 1 | 2 | 3> {
  checkOptions(options, optionKeys, 'policyCommand')
  const { print = (text: string) => void process.stdout.write(text) } = options
  try {
    return await run(argv, print, options)
  } catch (thrown) {
    const { message, hint } = toErrorInfo(thrown)
    print(`${displayText(message, { lines: true })}\n${hint === undefined ? '' : `${displayText(hint)}\n`}`)
    if (thrown instanceof CommandError) return thrown.exitCode
    return thrown instanceof ProvostError && thrown.code === 'unreadable-export' ? 2 : 3
  }
}

async function run(
  argv: readonly string[],
  print: (text: string) => void,
  { formats = {}, auditKey }: PolicyCommandOptions,
): Promise<0 | 1> {
  const { values: flags, positionals } = argumentsIn(argv)
  if (flags.help) {
    print(policyUsage)
    return 0
  }
  const [command, ...paths] = positionals
  if (command !== 'test' && command !== 'report') throw new CommandError(3, `Say test or report.\n\n${policyUsage}`)
  if (paths.length === 0) throw new CommandError(3, `policy ${command} needs a LOG.\n\n${policyUsage}`)
  const { values = false, json = false, rederive = false } = flags
  const others = flags.agents === undefined ? undefined : await readPolicyFile(flags.agents, {})
  if (others?.agents.length === 0) throw new CommandError(3, `${flags.agents} exports no agent.`)
  const read = async (path: string): Promise<PolicyFile> => {
    const file = await readPolicyFile(path, formats, others)
    const agents = file.agents.length > 0 ? file.agents : (others?.agents ?? [])
    return { ...file, agents, tools: file.tools.length > 0 ? file.tools : (others?.tools ?? []) }
  }
  const file = flags.policy === undefined ? undefined : await read(flags.policy)
  if (command === 'test' && !file?.policy) throw new CommandError(3, 'policy test needs --policy FILE with a policy.')
  const against = flags.against ?? 'recorded'
  const failOn = failOnIn(flags['fail-on'] ?? 'loosened')
  const other = against === 'recorded' ? 'recorded' : (await read(against)).policy
  if (!other) throw new CommandError(3, `${against} has no policy.`)
  const logs = await Promise.all(paths.map((path) => readLog(path, auditKey)))
  const judging = { agents: file?.agents ?? [], tools: file?.tools ?? [], rederive }
  if (command === 'report') {
    const report = await reportPolicy(logs, { ...judging, ...(file?.policy && { policy: file.policy }) })
    print(json ? jsonOf(values ? report : withoutValues(report)) : policyReportText(report, { values }))
    return 0
  }
  if (!file?.policy) return 1
  const test = await testPolicy(logs, { ...judging, policy: file.policy, against: other, failOn })
  print(json ? jsonOf(values ? test : namesOnly(test)) : policyTestText(test, { values }))
  return test.ok ? 0 : 1
}

function argumentsIn(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        policy: { type: 'string' },
        agents: { type: 'string' },
        against: { type: 'string' },
        'fail-on': { type: 'string' },
        rederive: { type: 'boolean' },
        values: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
  } catch (cause) {
    throw new CommandError(3, `${toErrorInfo(cause).message}\n\n${policyUsage}`)
  }
}

function failOnIn(word: string): 'loosened' | 'tightened' | 'any' {
  if (word === 'loosened' || word === 'tightened' || word === 'any') return word
  throw new CommandError(3, `--fail-on is ${word}: give loosened, tightened or any.`)
}

/** Reads a log. Its audit chain, if it has one, must be whole. */
async function readLog(path: string, key: PolicyCommandOptions['auditKey']): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new CommandError(2, `The log ${path} cannot be read: ${toErrorInfo(cause).message}`)
  }
  const { problems } = verifyAudit(text, key === undefined ? {} : { key })
  // Without the key, the links are only compared with each other.
  const [first] = problems.filter(({ code }) => key !== undefined || code !== 'key-needed')
  if (first) throw new CommandError(2, `The audit of ${path} is broken. ${first.message}`)
  return text
}

function jsonOf(result: object): string {
  return `${JSON.stringify(result, undefined, 2)}\n`
}

/** Returns a result without values of arguments, and without texts that quote them. */
function namesOnly(test: PolicyTest): object {
  const named = ({ decision, rule, missing }: OfflineVerdict) => ({ decision, rule, missing })
  const calls = test.calls.map(({ arguments: all, before, verdict, recorded, ...call }) => ({
    ...call,
    arguments: all.map(({ path, role, origin }) => ({ path, role, origin })),
    ...{ before: named(before), recorded: named(recorded), verdict: named(verdict) },
  }))
  return { ...test, calls }
}

function withoutValues(report: PolicyReport): object {
  const values = report.values.map(({ role, questions, approved, refused }) => ({ role, questions, approved, refused }))
  const proposals = report.proposals.filter(({ kind }) => kind === 'trusted-field')
  return { ...report, values, proposals }
}
