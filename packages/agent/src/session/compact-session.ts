import type { NewEntry } from '@provost/core'
import { SessionBusyError, isPromise } from '@provost/core'

import { createAbortControl } from '../control/abort-control.ts'
import { createEventBus } from '../events/event-bus.ts'
import { observeWithHooks } from '../hooks/event-hooks.ts'
import { createPendingInputs } from '../inbox/pending-inputs.ts'
import { holdLease } from '../log/lease.ts'
import { readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { staleEdits } from '../log/session-log.ts'
import { cutView } from '../model/context-edit.ts'
import { asError } from '../result/run-error.ts'
import { nothingCompacts } from '../result/session-error.ts'
import { createRunContext } from '../run/create-run-context.ts'
import { startRun } from '../run/start-run.ts'
import { createTree } from '../tree/run-tree.ts'
import type { Inbox } from '../types/inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { AbortControl } from '../types/run-context.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import type { SessionRuns } from './session-runs.ts'
import type { SessionWriter } from './session-writer.ts'

/** The session to compact. */
export interface CompactorOptions {
  readonly agent: ResolvedAgent
  readonly id: string
  readonly snapshot: LogSnapshot
  readonly options: UntypedRunOptions
  readonly inbox: Inbox
  /** Entries to write first. They are removed from the list. */
  readonly edits: NewEntry[]
}

/** Compacts the view of a session. */
export interface Compactor {
  /** Compacts within the active run, or at once if no run is active. */
  compact(): Promise<void>
  /** Aborts a compaction between runs. */
  abort(): void
}

/** Creates the compactor of a session object. */
export function createCompactor(
  setup: CompactorOptions,
  runs: Pick<SessionRuns<unknown>, 'activeRun' | 'pendingInputs'>,
  writer: Pick<SessionWriter, 'inTurn'>,
): Compactor {
  const { agent, id } = setup
  let compacting: AbortControl | undefined

  async function compactHere(): Promise<void> {
    const control = createAbortControl(createPendingInputs())
    compacting = control
    try {
      await compactSession(setup, control)
    } finally {
      compacting = undefined
      control.release()
    }
  }

  return {
    async compact() {
      if (agent.hooks.context.length === 0) throw nothingCompacts(id, agent.name)
      for (;;) {
        const underway = runs.activeRun()
        if (!underway) return writer.inTurn(compactHere)
        const asked = Promise.withResolvers<void>()
        const { compactions } = runs.pendingInputs()
        compactions.push(asked)
        const ended = underway.ended.then(() => true)
        const over = await Promise.race([asked.promise, ended]).catch((thrown: unknown) => {
          throw asError(thrown)
        })
        // The run ended before its next model call, so the session is compacted without the run.
        if (!over || !compactions.includes(asked)) return
        compactions.splice(compactions.indexOf(asked), 1)
      }
    },
    abort() {
      compacting?.abort()
    },
  }
}

/**
 * Lets the `context` hooks cut the view of a session between runs. A suspended run stays suspended.
 *
 * @throws SessionBusyError while another writer holds the lease; the error of a failed hook.
 */
async function compactSession(
  { agent, id, snapshot, options, inbox, edits }: CompactorOptions,
  control: AbortControl,
): Promise<void> {
  const { store, name } = agent
  const { scrubber } = agent.secrets
  const ready = agent.ready()
  if (isPromise(ready)) await ready
  const lease = await holdLease(store, id, agent.leaseMs)
  if (!lease) throw new SessionBusyError(id)
  const eventBus = createEventBus([])
  try {
    const news = await readLog(store, id, snapshot.state.offset)
    const { run, memos } = snapshot.state
    const logWriter = openLogWriter(
      { store, log: id, sessionId: id, lease, eventBus, runId: id, agent: name, scrubber },
      news,
      snapshot,
    )
    const ctx = createRunContext(agent, options, id, id, logWriter, createPendingInputs(), control, {
      eventBus,
      log: id,
      startRun,
      parentRun: undefined,
      tree: createTree(),
      inbox,
      peers: undefined,
    })
    // Dynamic instructions are taken from the last run.
    const made = run && memos.get(`${run.id}/${name}/instructions`)
    if (typeof made === 'string') ctx.instructions = made
    ctx.viewTrigger = 'manual'
    observeWithHooks(ctx, eventBus)
    if (edits.length > 0) {
      const drafts = edits.splice(0)
      if (news.length > 0) throw staleEdits(id)
      await logWriter.copy(drafts)
    }
    try {
      await cutView(ctx, logWriter.entryContext())
    } finally {
      await logWriter.seal().settled
    }
  } catch (thrown) {
    throw asError(thrown)
  } finally {
    eventBus.close()
    await lease.release()
  }
}
