import type { NewEntry } from '@provost/core'
import { SessionBusyError, isPromise } from '@provost/core'

import type { AbortControl } from '../control/abort-control.ts'
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
import { offsetOf } from '../state/session-state.ts'
import { createTree } from '../tree/run-tree.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { Given } from '../types/session.ts'
import type { SessionRuns } from './session-runs.ts'
import type { SessionWriter } from './session-writer.ts'

/** The session to compact. */
export interface Compacting {
  readonly plan: ResolvedAgent
  readonly id: string
  readonly known: LogSnapshot
  readonly given: Given
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
  setup: Compacting,
  runs: Pick<SessionRuns<unknown>, 'underway' | 'mailbox'>,
  writer: Pick<SessionWriter, 'inTurn'>,
): Compactor {
  const { plan, id } = setup
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
      if (plan.hooks.context.length === 0) throw nothingCompacts(id, plan.name)
      for (;;) {
        const underway = runs.underway()
        if (!underway) return writer.inTurn(compactHere)
        const asked = Promise.withResolvers<void>()
        const { compactions } = runs.mailbox()
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
async function compactSession({ plan, id, known, given, edits }: Compacting, control: AbortControl): Promise<void> {
  const { store, name } = plan
  const { scrubber } = plan.secrets
  const ready = plan.ready()
  if (isPromise(ready)) await ready
  const lease = await holdLease(store, id, plan.leaseMs)
  if (!lease) throw new SessionBusyError(id)
  const hub = createEventBus([])
  try {
    const news = await readLog(store, id, offsetOf(known.state))
    const { run, memos } = known.state
    const journal = openLogWriter(
      { store, log: id, sessionId: id, lease, hub, runId: id, agent: name, scrubber },
      news,
      known,
    )
    const scope = createRunContext(plan, given, id, id, journal, createPendingInputs(), control, {
      hub,
      log: id,
      startRun,
      lineage: undefined,
      tree: createTree(),
    })
    // Dynamic instructions are taken from the last run.
    const made = run && memos.get(`${run.id}/${name}/instructions`)
    if (typeof made === 'string') scope.instructions = made
    scope.trigger = 'manual'
    observeWithHooks(scope, hub)
    if (edits.length > 0) {
      const drafts = edits.splice(0)
      if (news.length > 0) throw staleEdits(id)
      await journal.copy(drafts)
    }
    try {
      await cutView(scope, journal.place())
    } finally {
      await journal.seal().quiet
    }
  } catch (thrown) {
    throw asError(thrown)
  } finally {
    hub.close()
    await lease.release()
  }
}
