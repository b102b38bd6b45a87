import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createNetServer } from 'node:net'
import process from 'node:process'

import { displayText, ProvostError } from '@provost/core'
import type { ConsolePage } from '@provost/server'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { agentsIn, checkAgentFile, forksIn } from '../project/agent-file.ts'
import { isMissing } from '../project/installed.ts'
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

/** The token of the console, which stays the same when the server restarts. */
const tokenVariable = 'PROVOST_DEV_TOKEN'

/** Starts the same command line under `node --watch`, which restarts it when an imported file changes. */
async function watched(): Promise<ExitCode> {
  const [program = '', ...args] = process.argv.slice(1)
  const watch = ['--watch', '--watch-preserve-output']
  const child = spawn(process.execPath, [...process.execArgv, ...watch, program, ...args, '--no-reload'], {
    stdio: 'inherit',
    env: { ...process.env, [tokenVariable]: randomBytes(24).toString('base64url') },
  })
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal)
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code === 0 || signal !== null ? exitCodes.ok : exitCodes.failed))
  })
}

/** Returns the page of the console; undefined where its package is not installed. */
async function consolePage(): Promise<ConsolePage | undefined> {
  try {
    // The name is a value, so that bundlers leave the optional package out.
    const name: string = '@provost/console'
    const page: ConsolePage = await import(name)
    return page
  } catch (cause) {
    if (!isMissing(cause)) throw cause
    return undefined
  }
}

async function serveAgents(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const { createServer, serve } = await import('@provost/server')
  const file = given.argument('FILE')
  const [agents, forks] = [await agentsIn(file), await forksIn(file)]
  const { store, name } = openStore(given, 'create')
  const page = given.flag('no-console') ? undefined : await consolePage()
  const token = process.env[tokenVariable]
  const server = createServer({
    ...{ agents, store, forks },
    ...(page && { console: { page, ...(token !== undefined && { token }) } }),
  })
  const listening = await serve(server, { port: given.number('port') ?? defaultPort })
  const names = agents.map((agent) => agent.name)
  const { url, consoleUrl } = listening
  if (terminal.json) terminal.print(displayText({ url, consoleUrl, agents: names, store: name }, { limit: Infinity }))
  else {
    terminal.print(`${terminal.bold(url)}  agents: ${names.map((one) => displayText(one, { limit: 128 })).join(', ')}`)
    if (consoleUrl !== undefined) terminal.print(`${terminal.bold(consoleUrl)}  console`)
    const credentials = consoleUrl === undefined ? '' : ' and the token of the console as "authorization: Bearer …"'
    terminal.note(
      terminal.dim(`Store ${name}. POST ${url}/api/agent/execute with { "input": "…" }${credentials} starts a run.`),
    )
  }
  await new Promise<void>((resolve) => process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve()))
  await listening.close({ graceMs })
  await store.close()
  return exitCodes.ok
}
