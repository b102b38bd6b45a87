import { hash } from 'node:crypto'

import type {
  EntryOf,
  FilterDescriptor,
  Grant,
  Input,
  Json,
  Label,
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
import { checkSpawnOptions } from '../definition/known-team-options.ts'
import { spawnedEntry } from '../entries/child-entries.ts'
import type { ContextBoundary, ContextTransfer } from '../handoff/context-boundary.ts'
import { filterForTransfer, inputFor, resultBack } from '../handoff/context-boundary.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import { messagesOf } from '../messages/read-input.ts'
import { deepest, depthOf, diverged, keyOf, tooDeep } from '../operations/operation-key.ts'
import { bridgeOf } from '../reducers/composite-reducer.ts'
import { brokenResult } from '../result/run-result.ts'
import { hashJson } from '../state/entry.ts'
import { emptyLog } from '../state/session-state.ts'
import { available, checkGrant, minGrant, spentIn } from '../tree/budget.ts'
import { noSpending } from '../tree/reservations.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { BudgetUsage } from '../types/run-tree.ts'
import type { CallState } from '../types/session-state.ts'
import type { Place, Spawned, Spawning } from './child-run.ts'
import { childResult, runNestedChild } from './child-run.ts'

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
  knows(id: string): boolean
}

/** Options for starting a child that are internal to the runtime. */
export interface Started extends Pick<Spawned, 'waits' | 'wanted' | 'within'> {
  readonly signal?: AbortSignal
}

/** The options of one child. */
interface Wanted extends Pick<SpawnOptions, 'exposeTurns'>, Started {
  readonly input: Input
  readonly inputHash: string
  readonly grant: Grant | undefined
  readonly filter: FilterDescriptor | undefined
  readonly secrets: SecretScope
}

/** Creates the spawner of a composite call. */
export function createSpawner(scope: RunContext, call: CallState, host: Spawning): Spawner {
  const { callId, toolName } = call.part
  const boundary: ContextBoundary = { scope, call, memo: host.memo, wait: host.wait }
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
    const id = `${callId}/${keyOf(key, scope)}`
    const grant = asked && checkGrant(asked)
    // Validated here, so that the composite receives the error of an invalid input.
    messagesOf(input, positionId(id, 0, 'message', 'input'), own)
    const what = [own.name, scope.secrets.scrubber.tokenise(hashedInput(input)), toJson(grant ?? null)]
    const same = hashJson(filter ? [...what, toJson(filter)] : what)
    const known = scope.state.run?.children.get(id)
    const before = made.get(id)?.same ?? known?.inputHash
    if ((before !== undefined && before !== same) || host.knows(id)) throw diverged(toolName, key)
    const inFlight = made.get(id)
    if (inFlight) return inFlight.result
    if (!known && depthOf(scope, call) + (scope.lineage?.parents.length ?? 0) >= deepest) throw tooDeep(toolName)
    const secrets = childSecrets(scope.secrets, own.secrets, at)
    const child = { id, agent: own.name, by }
    const result = run(child, own, { ...at, input, inputHash: same, grant, filter, secrets }, place)
    if (keeps) made.set(id, { same, result })
    return result
  }

  async function run(
    child: ContextTransfer,
    own: ResolvedAgent,
    { input, inputHash, grant, filter, secrets, exposeTurns = false, signal, waits, wanted, within }: Wanted,
    place: Place = () => scope.slots.enter('parallel'),
  ): Promise<RunResult<unknown>> {
    const { state, journal } = scope
    const { id } = child
    const plan = childAgent(scope.plan, own)
    const crossing = state.run?.children.has(id) ? undefined : filterForTransfer(boundary, child, input, filter)
    const given = isPromise(crossing) ? await crossing : crossing
    if (given && 'refused' in given) {
      return brokenResult<unknown>(plan, emptyLog(), { sessionId: scope.sessionId, runId: id }, given.refused)
    }
    let live: RunResult<unknown> | undefined
    await host.acts.run(id, (one) =>
      host.sure(
        (async () => {
          const fresh = !state.run?.children.has(id)
          if (fresh) {
            const log = `${scope.sessionId}/child/${hash('sha256', id).slice(0, 32)}`
            const { crossed } = given ?? {}
            // Messages that cross a context boundary carry their own labels.
            const label = call.errand || crossed ? joinLabels() : joinLabels(call.label, bridgeOf(call).label)
            const left = grant && minGrant(grant, available(scope.remaining(), scope.children, state.run))
            // Reserved at once, so that siblings that start meanwhile get only the rest.
            if (left) scope.children.set(id, { grant: left, runs: false, spent: () => noSpending })
            try {
              await journal.append([
                spawnedEntry(state, call, { callId: id, log, agent: own.name, inputHash, ...crossed }, label, left),
              ])
            } catch (thrown) {
              scope.children.delete(id)
              throw thrown
            }
          }
          const spawned = state.run?.children.get(id)
          if (!spawned) return
          const { input: begins } = given ?? inputFor(boundary, child, input, spawned)
          live = await runNestedChild(
            { scope, child: spawned, plan, input: begins, secrets, one, host, place, signal, waits, wanted, within },
            fresh,
          )
        })(),
      ),
    )
    const result = live ?? (await pastResult(scope, id, plan))
    const label = state.run?.children.get(id)?.joined?.label ?? untrustedLabel(own.name)
    return resultBack(boundary, child, plan, result, label, exposeTurns)
  }

  const joinedBy = (key: string): EntryOf<'child', 'joined'> | undefined =>
    scope.state.run?.children.get(`${callId}/${keyOf(key, scope)}`)?.joined

  return {
    knows: (id) => made.has(id) || scope.state.run?.children.has(id) === true,
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
      return joined ? spentIn(joined) : (scope.children.get(`${callId}/${keyOf(key, scope)}`)?.spent() ?? noSpending)
    },
  }
}

/** Returns an input as it is hashed: without purposes, which logs of earlier releases do not state. */
function hashedInput(input: Input): Json {
  const isStated = typeof input !== 'string' && input.some((item) => 'purpose' in item)
  return toJson(isStated ? input.map((item) => ({ ...item, purpose: undefined })) : input)
}

/** Returns the result of a child that has ended, from its log. */
async function pastResult(scope: RunContext, id: string, plan: ResolvedAgent): Promise<RunResult<unknown>> {
  const child = scope.state.run?.children.get(id)
  if (!child) throw new ProvostError('tool-calls-pending', `The child ${id} has no result.`)
  const known = logSnapshot(scope.sessionId)
  applyEntries(known, await readLog(plan.store, child.log))
  return childResult(scope, child, plan, known.state)
}
