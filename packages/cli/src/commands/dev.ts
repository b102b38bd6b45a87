import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createNetServer } from 'node:net'
import process from 'node:process'

import { displayText, ProvostError } from '@provost/core'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { agentsIn, checkAgentFile } from '../project/agent-file.ts'
import { openStore } from '../project/open-store.ts'

const defaultPort = 8080
/** Milliseconds in which a run may finish its step when the server stops. */
const graceMs = 2_000

/** `provost dev FILE` */
export async function dev(given: Invocation): Promise<ExitCode> {
  if (given.flag('no-reload')) return serveAgents(given)
  // What no change of the code mends ends the command, instead of waiting for one.
  checkAgentFile(given.argument('FILE'))
  await checkPort(given.number('port') ?? defaultPort)
  return watched()
}

/** @throws ProvostError `listen-failed` */
async function checkPort(port: number): Promise<void> {
  const probe = createNetServer()
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening')
  } catch (cause) {
    throw new ProvostError('listen-failed', `The server cannot listen at 127.0.0.1:${port}.`, {
      hint: 'Choose another --port, or stop the process that uses this one.',
      cause,
    })
  }
  probe.close()
  await once(probe, 'close')
}

/** Starts the same command line under `node --watch`, which restarts it when an imported file changes. */
async function watched(): Promise<ExitCode> {
  const [program = '', ...args] = process.argv.slice(1)
  const watch = ['--watch', '--watch-preserve-output']
  const child = spawn(process.execPath, [...process.execArgv, ...watch, program, ...args, '--no-reload'], {
    stdio: 'inherit',
  })
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code === 0 || signal !== null ? exitCodes.ok : exitCodes.failed))
  })
}

async function serveAgents(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const { createServer, serve } = await import('@provost/server')
  const agents = await agentsIn(given.argument('FILE'))
  const { store, name } = openStore(given, 'create')
  const server = createServer({ agents, store })
  const listening = await serve(server, { port: given.number('port') ?? defaultPort })
  const names = agents.map((agent) => agent.name)
  if (terminal.json)
    terminal.print(displayText({ url: listening.url, agents: names, store: name }, { limit: Infinity }))
  else {
    terminal.print(
      `${terminal.bold(listening.url)}  agents: ${names.map((one) => displayText(one, { limit: 128 })).join(', ')}`,
    )
    terminal.note(
      terminal.dim(`Store ${name}. POST ${listening.url}/api/agent/execute with { "input": "…" } starts a run.`),
    )
  }
  await new Promise<void>((resolve) => process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve()))
  await listening.close({ graceMs })
  await store.close()
  return exitCodes.ok
}
