import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { createDeskAgent } from './agent.ts'
import { openDatabase } from './database.ts'
import type { Mailbox } from './mailbox.ts'
import { chooseModel } from './model.ts'
import type { Options } from './options.ts'
import { createOrders } from './orders.ts'
import { openOutbox } from './outbox.ts'
import { type Watcher, workThrough } from './shift.ts'
import { summaryOf } from './summary.ts'
import { neutralise, palette, printableJson } from './terminal.ts'
import { createView, type View } from './view.ts'

/**
 * Opens model, books and outbox, handles the mails, and says what was done.
 *
 * @returns the exit code.
 * @throws DeskError of kind `usage` when something that was asked for cannot be had.
 */
export async function openDesk(mailbox: Mailbox, names: readonly string[], options: Options): Promise<number> {
  const { model, title } = await chooseModel(options.model, process.env)
  const outbox = openOutbox(join(options.data, 'outbox'))
  const file = join(options.data, 'desk.sqlite')
  if (options.fresh) {
    await outbox.clear()
    for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true })
  }
  const orders = createOrders(openDatabase(file))

  // With --json, stdout is for events alone.
  const messages = options.json ? process.stderr : process.stdout
  const colours = palette(messages.isTTY && messages.hasColors())
  const write = (text: string): void => void messages.write(text)
  const interrupt = onInterrupt()
  try {
    write(`Provost desk, with ${neutralise(title)}\n`)
    write(`${colours.dim(`${names.length} ${names.length === 1 ? 'mail' : 'mails'} in ${neutralise(mailbox.dir)}`)}\n`)
    const view = createView(write, colours)
    const watcher = options.json ? jsonLines(view) : view
    const desk = { mailbox, orders, outbox }
    const tally = await workThrough(
      names,
      createDeskAgent(model, options.policy ? 'enforce' : 'shadow'),
      desk,
      watcher,
      interrupt.signal,
    )
    write(`\n${summaryOf(tally, colours, outbox.dir)}`)
    if (interrupt.signal.aborted) return 130
    return tally.handled.length === 0 ? 1 : 0
  } finally {
    interrupt.stop()
    orders.close()
  }
}

function jsonLines(view: View): Watcher {
  return {
    heading: () => {},
    event: (event) => void process.stdout.write(`${printableJson(event)}\n`),
    broken: view.broken,
  }
}

/** The first Ctrl-C ends the run at hand, the second one the process. A reader that went away (`| head`) is like the first. */
function onInterrupt(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  process.once('SIGINT', abort)
  process.once('SIGTERM', abort)
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      abort()
    })
  return {
    signal: controller.signal,
    stop: () => {
      process.off('SIGINT', abort)
      process.off('SIGTERM', abort)
    },
  }
}
