import type {
  EntryOf,
  FilterDescriptor,
  Grant,
  Input,
  Label,
  LentSecrets,
  RunResult,
  SpawnOptions,
  Spawnable,
  UsageReport,
} from '@provost/core'
import { ProvostError, checkFilter, isPromise, joinLabels, positionId, toJson, untrustedLabel } from '@provost/core'
import type { SecretScope } from '@provost/tools'
import { childSecrets } from '@provost/tools'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { childAgent } from '../definition/child-agent.ts'
import { checkSpawnOptions } from '../definition/known-child-options.ts'
import { spawnedEntry } from '../entries/child-entries.ts'
import type { ContextBoundary, ContextTransfer } from '../handoff/context-boundary.ts'
import { filterForTransfer, inputFor, resultBack } from '../handoff/context-boundary.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import { childLog, partSession } from '../messages/child-message.ts'
import { inputJson } from '../messages/input-json.ts'
import { messagesOf } from '../messages/read-input.ts'
import { maxCompositeDepth, depthOf, diverged, keyOf, tooDeep } from '../operations/operation-key.ts'
import { compositeStateOf } from '../reducers/composite-reducer.ts'
import { brokenResult } from '../result/run-result.ts'
import { hashJson } from '../state/entry.ts'
import { emptySessionState } from '../state/session-state.ts'
import { available, checkGrant, minGrant, spentIn } from '../tree/budget.ts'
import { noSpending } from '../tree/reservations.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { BudgetUsage } from '../types/run-tree.ts'
import type { CallState } from '../types/session-state.ts'
import { joinChildElsewhere, runsElsewhere } from './child-elsewhere.ts'
import type { Place, SpawnedChild, SpawnHost } from './child-run.ts'
import { childResult, runChildToEnd } from './child-run.ts'

/** Starts the children of one composite. */
export interface Spawner {
  spawn<Out>(agent: Spawnable<Out>, input: Input, at: SpawnOptions): Promise<RunResult<Out>>
  /** Like `spawn`, but without caching the result. Takes a slot provider and a signal for this child alone. */
  start(agent: Spawnable, input: Input, at: SpawnOptions & Started, place?: Place): Promise<RunResult<unknown>>
  /** The label of a child that has ended. */
  labelOf(key: string): Label | undefined
  /** The usage of a child that has ended. */
  usageOf(key: string): UsageReport | undefined
  /** What a child has spent so far, including its reservations. */
  spentOf(key: string): BudgetUsage
  /** Whether the id belongs to a child. */
  hasChild(id: string): boolean
}

/** Options for starting a child that are internal to the runtime. */
export interface Started extends Pick<SpawnedChild, 'onParkedChange' | 'options' | 'within'> {
  readonly signal?: AbortSignal
}

/** The options of one child. */
interface ChildOptions extends Pick<SpawnOptions, 'exposeTurns' | 'where'>, Started {
  readonly input: Input
  readonly inputHash: string
  readonly grant: Grant | undefined
  readonly filter: FilterDescriptor | undefined
  readonly secrets: SecretScope
  readonly lent: LentSecrets
}

/** Creates the spawner of a composite call. */
export function createSpawner(ctx: RunContext, call: CallState, host: SpawnHost): Spawner {
  const { callId, toolName } = call.part
  const boundary: ContextBoundary = { ctx, call, memo: host.memo, wait: host.wait }
  const made = new Map<string, { readonly same: string; readonly result: Promise<RunResult<unknown>> }>()

  function spawn(
    agent: Spawnable,
    input: Input,
    at: SpawnOptions & Started,
    by: ContextTransfer['by'],
    place: Place | undefined,
    keeps: boolean,
  ): Promise<RunResult<unknown>> {
    const { key, grant: asked } = at
    const filter = at.inputFilter && checkFilter(at.inputFilter)
    const own = resolvedAgentOf(agent)
    const id = `${callId}/${keyOf(key, ctx)}`
    const grant = asked && checkGrant(asked)
    // Validated here, so that the composite receives the error of an invalid input.
    messagesOf(input, positionId(id, 0, 'message', 'input'), own)
    const what = [own.name, ctx.secrets.scrubber.tokenise(inputJson(input)), toJson(grant ?? null)]
    const same = hashJson(filter ? [...what, toJson(filter)] : what)
    const known = ctx.state.run?.children.get(id)
    const before = made.get(id)?.same ?? known?.inputHash
    if ((before !== undefined && before !== same) || host.hasCall(id)) throw diverged(toolName, key)
    const inFlight = made.get(id)
    if (inFlight) return inFlight.result
    if (!known && depthOf(ctx, call) + (ctx.parentRun?.parents.length ?? 0) >= maxCompositeDepth)
      throw tooDeep(toolName)
    const secrets = childSecrets(ctx.secrets, own.secrets, at)
    const child = { id, agent: own.name, by }
    const { secrets: way, inheritSecrets } = at
    const lent = { ...(way && { secrets: way }), ...(inheritSecrets && { inheritSecrets: [...inheritSecrets] }) }
    const result = run(child, own, { ...at, input, inputHash: same, grant, filter, secrets, lent }, place)
    if (keeps) made.set(id, { same, result })
    return result
  }

  async function run(
    child: ContextTransfer,
    own: ResolvedAgent,
    {
      input,
      inputHash,
      grant,
      filter,
      secrets,
      lent,
      where = 'here',
      exposeTurns = false,
      signal,
      onParkedChange,
      options: wanted,
      within,
    }: ChildOptions,
    place: Place = () => ctx.slots.enter('parallel'),
  ): Promise<RunResult<unknown>> {
    const { state, logWriter } = ctx
    const { id } = child
    const agent = childAgent(ctx.agent, own)
    const isKnown = state.run?.children.has(id) === true
    const isElsewhere = !isKnown && where === 'any' && runsElsewhere(ctx, own)
    const crossing = state.run?.children.has(id) ? undefined : filterForTransfer(boundary, child, input, filter)
    const options = isPromise(crossing) ? await crossing : crossing
    if (options && 'refused' in options) {
      return brokenResult<unknown>(
        agent,
        emptySessionState(state.clock),
        { sessionId: ctx.sessionId, runId: id },
        options.refused,
      )
    }
    let live: RunResult<unknown> | undefined
    await host.operations.run(id, (operation) =>
      host.failRunOnError(
        (async () => {
          const fresh = !state.run?.children.has(id)
          if (fresh) {
            const log = (isElsewhere ? partSession : childLog)(ctx.sessionId, id)
            const { transfer } = options ?? {}
            // Messages that cross a context boundary carry their own labels.
            const label =
              call.returnHandoff || transfer ? joinLabels() : joinLabels(call.label, compositeStateOf(call).label)
            const left = grant && minGrant(grant, available(ctx.remaining(), ctx.children, state.run))
            // Reserved at once, so that siblings that start meanwhile get only the rest.
            if (left) ctx.children.set(id, { grant: left, isRunning: false, spent: () => noSpending })
            try {
              await logWriter.append([
                spawnedEntry(
                  state,
                  call,
                  { callId: id, log, agent: own.name, ...(isElsewhere && { where: 'any' }), inputHash, ...transfer },
                  label,
                  left,
                ),
              ])
            } catch (thrown) {
              ctx.children.delete(id)
              throw thrown
            }
            // The log has its grant, and this process sees nothing of its spending.
            if (isElsewhere) ctx.children.delete(id)
          }
          const spawned = state.run?.children.get(id)
          if (!spawned) return
          const { input: begins } = options ?? inputFor(boundary, child, input, spawned)
          const its: SpawnedChild = {
            ctx,
            child: spawned,
            agent,
            input: begins,
            secrets,
            lent,
            operation,
            host,
            place,
            signal,
            onParkedChange,
            options: wanted,
            within,
          }
          live = await (spawned.where === 'any' ? joinChildElsewhere(its) : runChildToEnd(its, fresh))
        })(),
      ),
    )
    const result = live ?? (await pastResult(ctx, id, agent))
    const label = state.run?.children.get(id)?.completion?.label ?? untrustedLabel(own.name)
    return resultBack(boundary, child, agent, result, label, exposeTurns)
  }

  const joinedBy = (key: string): EntryOf<'child', 'joined'> | undefined =>
    ctx.state.run?.children.get(`${callId}/${keyOf(key, ctx)}`)?.completion

  return {
    hasChild: (id) => made.has(id) || ctx.state.run?.children.has(id) === true,
    // oxlint-disable-next-line typescript/no-explicit-any -- the agent's type determines its output
    async spawn(agent, input, at): Promise<RunResult<any>> {
      checkSpawnOptions(at)
      return spawn(agent, input, at, 'tool', undefined, true)
    },
    start: async (agent, input, at, place) => spawn(agent, input, at, 'fanout', place, false),
    usageOf: (key) => joinedBy(key)?.usage,
    labelOf: (key) => joinedBy(key)?.label,
    spentOf(key) {
      const joined = joinedBy(key)
      return joined ? spentIn(joined) : (ctx.children.get(`${callId}/${keyOf(key, ctx)}`)?.spent() ?? noSpending)
    },
  }
}

/** Returns the result of a child that has ended, from its log. */
async function pastResult(ctx: RunContext, id: string, agent: ResolvedAgent): Promise<RunResult<unknown>> {
  const child = ctx.state.run?.children.get(id)
  if (!child) throw new ProvostError('tool-calls-pending', `The child ${id} has no result.`)
  const snapshot = logSnapshot(ctx.sessionId, ctx.state.clock)
  applyEntries(snapshot, await readLog(agent.store, child.log))
  return childResult(ctx, child, agent, snapshot.state)
}
