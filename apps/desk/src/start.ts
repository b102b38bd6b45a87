import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { questionText } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { createDeskTeam } from './agent.ts'
import { askAtTerminal, askWhetherDone } from './approval.ts'
import { type Bank, openBank } from './bank.ts'
import { type Beside, openBeside } from './beside.ts'
import type { Output, Surroundings } from './command.ts'
import { openDatabase } from './database.ts'
import { DeskError, reasonOf } from './fault.ts'
import type { Mailbox } from './mailbox.ts'
import { openDeskMemory } from './memory.ts'
import { chooseModel } from './model.ts'
import type { Options } from './options.ts'
import { createOrders } from './orders.ts'
import { openOutbox } from './outbox.ts'
import { serveDesk } from './served.ts'
import { isScripted, openSession, type OpenSession, openSessions } from './sessions.ts'
import { type Begun, goOn, type Watcher, workThrough } from './shift.ts'
import { summaryOf } from './summary.ts'
import type { Tally } from './tally.ts'
import { inputText, neutralise, oneLine, palette, printableJson } from './terminal.ts'
import { beginAndKill, killedMail, tour } from './tour.ts'
import { openTracing, type Tracing } from './tracing.ts'
import { createView, type View } from './view.ts'

/**
 * Opens model, books and outbox, handles the mails, and prints a summary.
 *
 * @returns the exit code.
 * @throws DeskError of kind `usage` when a requested resource is not available.
 */
export async function openDesk(
  mailbox: Mailbox,
  names: readonly string[],
  options: Options,
  io: Surroundings,
): Promise<number> {
  // With --json, stdout is for events only.
  const messages = options.json ? io.stderr : io.stdout
  const coloured = messages.isTTY === true && messages.hasColors?.() === true
  const colours = palette(coloured)
  const write = (text: string): void => void messages.write(text)
  const { model, title } = await chooseModel(options.model, io.env)
  const tracing = await openTracing(options.trace, coloured)
  const outbox = openOutbox(join(options.data, 'outbox'))
  const file = join(options.data, 'desk.sqlite')
  const sessions = join(options.data, 'sessions.sqlite')
  const remembered = join(options.data, 'memory.sqlite')
  const statement = join(options.data, 'bank.jsonl')
  if (options.fresh) {
    await outbox.clear()
    for (const one of [file, sessions, remembered, statement])
      for (const suffix of ['', '-wal', '-shm']) await rm(`${one}${suffix}`, { force: true })
  }
  const orders = createOrders(openDatabase(file))
  const store = sqliteStore(sessions)
  const memory = openDeskMemory(remembered, mailbox)

  // A session that was started with a bank is resumed with it.
  const kind = options.loseReplies ?? (options.session ? 'known' : undefined)
  const bank = kind && (await openBank(statement, kind))

  const interrupt = onInterrupt(io)
  let beside: Beside | undefined
  try {
    const { session: task } = options
    const scripted = options.codeMode || (task && task.op !== 'list' && (await isScripted(store, task.id)))
    const agent = createDeskTeam({
      model,
      store,
      memory,
      bank,
      policy: options.policy ? 'enforce' : 'shadow',
      tracing: tracing.extensions,
      toolCalls: scripted ? 'scripted' : 'direct',
    })
    const desk = { mailbox, orders, outbox }
    if (options.serve !== undefined) {
      write(`Provost desk, with ${neutralise(title)}\n`)
      return await serveDesk({ agent, store, desk, port: options.serve, signal: interrupt.signal, write })
    }
    const asks = !options.json && io.stdin.isTTY && io.stdout.isTTY
    const onApproval = asks ? askAtTerminal(interrupt.signal) : undefined
    const onUncertain = asks ? askWhetherDone(interrupt.signal, () => bank?.payments() ?? []) : undefined
    const open = { agent, store, desk, onApproval }
    write(`Provost desk, with ${neutralise(title)}\n`)
    if (task?.op === 'list') return listSessions(await openSessions(open), options.command, write)
    if (!task) {
      const some = `${names.length}${names.length < mailbox.names.length ? ` of ${mailbox.names.length}` : ''}`
      write(`${colours.dim(`${some} ${some === '1' ? 'mail' : 'mails'} in ${neutralise(mailbox.dir)}`)}\n`)
    }
    write(`${colours.dim(`sessions in ${neutralise(sessions)}`)}\n`)
    if (asks && !options.text) {
      const failed = (error: unknown): void => {
        if (error !== undefined && !interrupt.signal.aborted)
          write(`${colours.yellow(`console: ${oneLine(reasonOf(error), 200)}`)}\n`)
      }
      try {
        beside = await openBeside(agent, store, desk)
        // The first start builds the page meanwhile.
        const when = beside.isBuilding ? colours.dim(' (it opens once it is built, in some seconds)') : ''
        write(`${colours.dim('console at')} ${options.tour ? beside.tourUrl : beside.url}${when}\n`)
        void beside.problem.then(failed)
      } catch (error) {
        failed(error)
      }
    }
    const view = createView(write, colours, messages.columns)
    const shown = withBank(withTraces(options.json ? jsonLines(io.stdout, view) : view, tracing, write), bank)
    const watcher = options.tour ? withTitles(shown, (text) => write(`\n${colours.bold(text)}\n`)) : shown
    const waiting = (): void => write(colours.dim('Another desk holds the session; waiting.\n'))
    const begun: Begun = {
      mail: killedMail,
      begin: () => beginAndKill(options, io.env, interrupt.signal),
      open(sessionId) {
        write(
          `  ${colours.red('✗ SIGKILL: the process is gone.')} Its session is in the log; this process resumes it.\n`,
        )
        return openSession(open, sessionId, () => {})
      },
    }
    let tally: Tally
    if (task) {
      const found = await openSession(open, task.id, waiting)
      const decision = task.op === 'resume' ? undefined : task.op
      if (decision && !waysOf(found.why).includes(decision))
        throw new DeskError(
          'usage',
          `Session ${task.id} does not wait for --${decision}. Use ${waysOf(found.why)
            .map((way) => `--${way}`)
            .join(' or ')}.`,
        )
      tally = await goOn(found, decision, desk, watcher, interrupt.signal, onUncertain)
    } else {
      const answers = { onApproval, onUncertain }
      tally = await workThrough(
        names,
        agent,
        desk,
        watcher,
        interrupt.signal,
        answers,
        options.tour ? begun : undefined,
      )
    }
    write(`\n${summaryOf(tally, colours, outbox.dir, options.command)}${bank?.statement() ?? ''}`)
    if (options.tour) write(`\nAll ${mailbox.names.length} samples: ${options.command} --all\n`)
    if (interrupt.signal.aborted) return 130
    if (beside && (await beside.problem) === undefined) {
      write(
        `\n${colours.dim('The console stays open. Ctrl-C ends it:')} ${options.tour ? beside.tourUrl : beside.url}\n`,
      )
      await until(interrupt.signal)
    }
    return tally.handled.length + tally.waiting.length === 0 ? 1 : 0
  } finally {
    interrupt.stop()
    await beside?.close()
    orders.close()
    await bank?.close()
    await store.close()
    await memory.close()
    const problem = await tracing.close()
    if (problem !== undefined) write(`${colours.yellow(`traces: ${oneLine(problem, 200)}`)}\n`)
    else if (tracing.where !== undefined) write(`traces: ${oneLine(tracing.where, 200)}\n`)
  }
}

async function until(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

function listSessions(sessions: readonly OpenSession[], command: string, write: (text: string) => void): number {
  if (sessions.length === 0) write('No session is open.\n')
  for (const { mail, why, session } of sessions) {
    const { id, pending } = session
    write(`${why.padEnd(8)} ${oneLine(mail, 60)}\n`)
    for (const approval of why === 'waiting' ? pending.approvals : [])
      write(`  ? ${oneLine(questionText(approval), 240)}\n`)
    for (const { toolName, input } of why === 'unknown' ? pending.uncertain : [])
      write(`  ? it is unknown whether ${oneLine(toolName, 40)} took place: ${oneLine(inputText(input), 200)}\n`)
    for (const way of waysOf(why)) write(`  ${neutralise(command)} --${way} ${id}\n`)
  }
  return 0
}

/** The options that continue a session. */
function waysOf(why: OpenSession['why']): readonly string[] {
  if (why === 'waiting') return ['approve', 'deny']
  return why === 'unknown' ? ['done', 'redo'] : ['resume']
}

/** Says before each mail what there is to see. */
function withTitles(watcher: Watcher, say: (title: string) => void): Watcher {
  return {
    ...watcher,
    heading(mail) {
      const title = tour.find((part) => part.mail === mail.name)?.title
      if (title !== undefined) say(title)
      watcher.heading(mail)
    },
  }
}

/** Counts the questions about payments. */
function withBank(watcher: Watcher, bank: Bank | undefined): Watcher {
  return {
    ...watcher,
    event(event) {
      if (event.type === 'tool.uncertain') bank?.asked()
      watcher.event(event)
    },
  }
}

function withTraces(watcher: Watcher, tracing: Tracing, write: (text: string) => void): Watcher {
  return {
    ...watcher,
    event(event) {
      watcher.event(event)
      write(tracing.after(event))
    },
  }
}

function jsonLines(stdout: Output, view: View): Watcher {
  return {
    heading: () => {},
    event: (event) => void stdout.write(`${printableJson(event)}\n`),
    broken: view.broken,
  }
}

/**
 * The first Ctrl-C ends the current run, the second one the process. A closed output pipe (`| head`) acts like the
 * first.
 */
function onInterrupt({ stdout, stderr }: Surroundings): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  process.once('SIGINT', abort)
  process.once('SIGTERM', abort)
  for (const stream of [stdout, stderr]) stream.on('error', abort)
  return {
    signal: controller.signal,
    stop: () => {
      process.off('SIGINT', abort)
      process.off('SIGTERM', abort)
    },
  }
}
