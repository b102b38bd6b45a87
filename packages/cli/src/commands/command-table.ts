import type { SessionStatus } from '@provost/core'

import type { ArgumentSpec, Command, OuterCommand } from '../command/command.ts'
import { byOption, storeOption, traceOption, waitOption } from '../command/common-options.ts'

const agentFile: ArgumentSpec = {
  name: 'FILE',
  text: 'Module that exports agents (TypeScript or JavaScript). FILE#NAME selects one of several.',
}
const sessionId: ArgumentSpec = { name: 'SESSION', text: 'Id of a session.' }
const waitId: ArgumentSpec = {
  name: 'ID',
  text: 'Id of a question or of a batch, as show lists them. Not needed if only one is open.',
  optional: true,
}
const acceptOption = {
  'accept-changes': { text: 'Resumes the run although its agent changed, under the rule ask of its agent.' },
}
const agentOption = {
  ...acceptOption,
  agent: { value: 'FILE', text: 'Resumes the run here, with the agent of this file, once the decision is stored.' },
}
const exportKey = 'PROVOST_EXPORT_KEY: the key that signs an export, of 16 bytes or more.'

const statuses: readonly SessionStatus[] = ['idle', 'running', 'suspended', 'failed', 'closed', 'quarantined']

/** All commands, in the order of the help. Each loads its code when it is executed. A new command is a row here. */
export const commands: readonly (Command | OuterCommand)[] = [
  {
    name: 'run',
    summary: 'Runs an agent with one input: the answer goes to stdout, calls and questions go to stderr.',
    arguments: [agentFile, { name: 'INPUT', text: 'Input of the run; - reads it from stdin.' }],
    options: {
      session: { value: 'ID', text: 'Continues this session, or creates it. Default: a new session.' },
      ...traceOption,
      ...storeOption,
      ...byOption,
      ...waitOption,
    },
    notes: [
      'A call that needs approval is asked about on a terminal. Elsewhere the run is suspended, with exit code 3.',
      'With --json, stdout has all events, one a line.',
    ],
    examples: [
      'run desk.ts "Refund order 17"',
      'run team.ts#billing "Send the invoices" --session ann-17',
      'run reviewer.ts - < change.diff',
    ],
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'dev',
    summary: 'Serves the agents of a file over HTTP, for this machine, and restarts when its code changes.',
    arguments: [agentFile],
    options: {
      port: { value: 'PORT', range: [0, 65_535], text: 'Port at 127.0.0.1. Default 8080; 0 takes a free one.' },
      'no-reload': { text: 'Serves without restarts.' },
      'no-console': { text: 'Serves no console; the API then needs no token.' },
      ...storeOption,
    },
    notes: [
      'Where @provost/console is installed, it also serves the console, and prints its address with the token that all requests then need.',
      'It also continues other runs of the store that are due: after an answer, at a deadline, or after the death of their process.',
      'Runs that a restart interrupts are resumed after it.',
    ],
    examples: ['dev desk.ts', 'dev desk.ts --port 3000 --store data/sessions.db'],
    load: async () => (await import('./dev.ts')).dev,
  },
  {
    name: 'mcp',
    summary: 'Serves the agents of a file as tools of an MCP server over stdio.',
    arguments: [agentFile],
    options: storeOption,
    notes: [
      'MCP clients cannot approve: the result of a suspended run names what waits. Decide with approve or deny, then call again.',
      'Needs the package @modelcontextprotocol/server.',
    ],
    examples: ['mcp desk.ts --store /data/sessions.db'],
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'runs',
    summary: 'Lists the sessions of a store, the last changed first.',
    arguments: [],
    options: {
      status: { value: 'STATUS', oneOf: statuses, text: `One of ${statuses.join(', ')}.` },
      limit: { value: 'N', range: [1, 10_000], text: 'Sessions at most. Default 20.' },
      ...storeOption,
    },
    examples: ['runs --status suspended', 'runs --limit 100 --json'],
    load: async () => (await import('./runs.ts')).runs,
  },
  {
    name: 'show',
    summary: 'Shows what happened in a session: messages, calls, results, decisions, usage, and what waits.',
    arguments: [sessionId],
    options: {
      full: { text: 'Does not cut long texts.' },
      agent: { value: 'FILE', text: 'Also shows what changed in the agent of this file since the last run began.' },
      ...storeOption,
    },
    notes: ['Text that came from outside is marked untrusted, with its sources. With --json, each line is an event.'],
    examples: ['show ann-17', 'show ann-17 --full | less', 'show ann-17 --agent desk.ts'],
    load: async () => (await import('./show.ts')).show,
  },
  {
    name: 'approve',
    summary: 'Approves a call that waits, or all calls that were asked about together, and records it in the store.',
    arguments: [sessionId, waitId],
    options: { ...agentOption, ...byOption, ...waitOption, ...storeOption },
    notes: [
      'No agent is needed to decide. A server or worker with the agent and this store continues the run at once; otherwise provost resume does.',
    ],
    examples: ['approve ann-17', 'approve ann-17 ID --agent desk.ts', 'approve ann-17 BATCH'],
    load: async () => (await import('./decide.ts')).approve,
  },
  {
    name: 'deny',
    summary: 'Denies a call that waits, or all calls that were asked about together, and records it in the store.',
    arguments: [sessionId, waitId],
    options: {
      reason: { value: 'TEXT', text: 'Why. The model reads it.' },
      ...agentOption,
      ...byOption,
      ...waitOption,
      ...storeOption,
    },
    examples: ['deny ann-17 ID --reason "Over the limit"'],
    load: async () => (await import('./decide.ts')).deny,
  },
  {
    name: 'settle',
    summary: 'States what became of a call whose process died in it, and records it in the store.',
    arguments: [
      sessionId,
      { name: 'CALL', text: 'Id of the call, as show lists it.' },
      {
        name: 'OUTCOME',
        oneOf: ['done', 'retry', 'fail'],
        text: 'done: it took place. retry: call the tool again. fail: give the call up.',
      },
    ],
    options: { ...agentOption, ...byOption, ...waitOption, ...storeOption },
    examples: ['settle ann-17 CALL done'],
    load: async () => (await import('./settle.ts')).settle,
  },
  {
    name: 'resume',
    summary: 'Resumes the last run of a session that was suspended, interrupted, failed or aborted.',
    arguments: [sessionId, agentFile],
    options: { ...acceptOption, ...traceOption, ...byOption, ...waitOption, ...storeOption },
    notes: [
      'Servers and workers over the same store do it by themselves: after an answer, at a deadline, or after the death of a process.',
      'What changed in an agent since its run began: show SESSION --agent FILE.',
    ],
    examples: ['resume ann-17 desk.ts', 'resume ann-17 desk.ts --accept-changes'],
    load: async () => (await import('./resume.ts')).resume,
  },
  {
    name: 'fork',
    summary: 'Creates a session with the beginning of another one, and prints its id. Both continue independently.',
    arguments: [sessionId],
    options: {
      at: {
        value: 'ENTRY',
        range: [1, 1_000_000_000],
        text: 'Number of an entry: the fork ends with it. A call without a result gets one that states it. Default: the last finished turn.',
      },
      continue: {
        text: 'With --at: the turn stays open. "resume" continues it, and makes calls that had not started.',
      },
      policy: {
        value: 'NAME',
        text: 'Policy of the fork: one of `forks.policies`, which the file of its agent exports, or its server has.',
      },
      prompt: { value: 'NAME', text: 'Instructions of the fork: one of `forks.prompts`.' },
      'prompt-text': { value: 'TEXT', text: 'Instructions of the fork as text, in place of --prompt.' },
      ...storeOption,
    },
    notes: ['Waits, decisions, principals, usage and the audit trail are not copied.'],
    examples: ['fork ann-17', 'fork ann-17 --at 40', 'fork ann-17 --at 40 --continue --policy strict'],
    load: async () => (await import('./fork.ts')).fork,
  },
  {
    name: 'replay',
    summary:
      "Drives today's agent through a recorded session without a model or a tool, and reports the first difference.",
    arguments: [sessionId, agentFile],
    options: storeOption,
    examples: ['replay ann-17 desk.ts'],
    load: async () => (await import('../checks/replay.ts')).replay,
  },
  {
    name: 'eval',
    summary: 'Runs the cases of a file against its agent, and reports how the runs differ from what they expect.',
    arguments: [
      {
        name: 'FILE',
        text: 'Module that exports an agent, and `cases` as a list. FILE#NAME selects one of several agents.',
      },
    ],
    options: {
      runs: { value: 'N', range: [1, 1_000], text: 'Runs of each case. Default 1.' },
      concurrency: { value: 'N', range: [1, 100], text: 'Runs at the same time. Default 4.' },
      model: { value: 'NAME', text: 'Replaces the model of the agent, such as openai/gpt-5.4-mini.' },
      only: { value: 'TEXT', text: 'Only cases whose name contains this text.' },
      output: { value: 'FILE', text: 'Writes the evaluation as JSON: the measure of a later one.' },
      against: { value: 'FILE', text: 'Compares with an evaluation of before; fails only where a case regressed.' },
    },
    notes: [
      'The tools of the agent run. Approvals are denied, unless a case answers them.',
      'Exit code 1: a run differs, or with --against a case passes less often than before.',
    ],
    examples: [
      'eval desk.eval.ts',
      'eval desk.eval.ts --runs 5 --output before.json',
      'eval desk.eval.ts --runs 5 --model openai/gpt-5.4-mini --against before.json',
    ],
    load: async () => (await import('../checks/eval.ts')).evaluateFile,
  },
  {
    name: 'export',
    summary: 'Writes a session as JSON lines, with a checksum.',
    arguments: [sessionId],
    options: {
      for: {
        value: 'READER',
        oneOf: ['outside'],
        text: 'outside: only messages and results, without internal traces and secrets.',
      },
      output: { value: 'FILE', text: 'A new file. Default: stdout, unless it is a terminal.' },
      ...storeOption,
    },
    notes: [exportKey],
    examples: ['export ann-17 > ann-17.jsonl', 'export ann-17 --for outside --output ann-17.jsonl'],
    load: async () => (await import('./transfer.ts')).exportToFile,
  },
  {
    name: 'import',
    summary: 'Imports an exported session. Without a valid signature it is an untrusted record that cannot be resumed.',
    arguments: [{ name: 'FILE', text: 'File that export wrote; - reads stdin.' }],
    options: { id: { value: 'ID', text: 'Id of the imported session. Default: its id.' }, ...storeOption },
    notes: [exportKey],
    examples: ['import ann-17.jsonl'],
    load: async () => (await import('./transfer.ts')).importFromFile,
  },
  {
    name: 'verify',
    summary: 'Verifies the audit of a session: no row was changed, added, moved or left out.',
    arguments: [
      { name: 'FILE|SESSION', text: 'File that export wrote, - for stdin, or id of a session in the store.' },
    ],
    options: {
      head: { value: 'HASH', text: 'A head stored elsewhere, which the chain must contain.' },
      ...storeOption,
    },
    notes: ['PROVOST_AUDIT_KEY: the key of the audit, where it has one.'],
    examples: ['verify ann-17.jsonl', 'verify ann-17 --head 5f0c…'],
    load: async () => (await import('../checks/verify.ts')).verify,
  },
  {
    name: 'policy',
    summary: 'Tests a policy on exported sessions, or reports what a policy asked: policy test, policy report.',
    readsArguments: true,
    load: async () => (await import('../checks/policy.ts')).policy,
  },
  {
    name: 'doctor',
    summary:
      'Checks this machine: Node, SQLite, threads, the store and its clock, packages, and which API keys are set.',
    arguments: [],
    options: storeOption,
    notes: ['Names of keys are shown, never their values. A check that fails gives exit code 1.'],
    examples: ['doctor --store postgres://db.example/desk'],
    load: async () => (await import('./doctor.ts')).doctor,
  },
]
