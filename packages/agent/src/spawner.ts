import { hash } from 'node:crypto'

import type {
  EntryOf,
  FilterDescriptor,
  Grant,
  Input,
  Label,
  RunResult,
  Spawnable,
  SpawnOptions,
  UsageReport,
} from '@provost/core'
import { checkFilter, isPromise, joinLabels, positionId, ProvostError, toJson, untrustedLabel } from '@provost/core'
import type { SecretScope } from '@provost/tools'
import { childSecrets } from '@provost/tools'

import { deepest, depthOf, diverged, keyOf, tooDeep } from './act-key.ts'
import type { AgentPlan } from './agent-plan.ts'
import { bridgeOf } from './bridge-fold.ts'
import { spawnedEntry } from './child-entries.ts'
import { childPlan } from './child-plan.ts'
import { carryChild, childResult } from './child-run.ts'
import type { Place, Spawned, Spawning } from './child-run.ts'
import { hashJson } from './entry.ts'
import type { Boundary, Crosser } from './handoff/boundary.ts'
import { crossesTo, givenTo, resultBack } from './handoff/boundary.ts'
import { messagesOf } from './input.ts'
import { knownLog, learn, readLog } from './known-log.ts'
import { planOf } from './known-plan.ts'
import { checkSpawnOptions } from './known-team-options.ts'
import type { CallState } from './log-state.ts'
import { emptyLog } from './log-state.ts'
import type { Spent } from './purse.ts'
import { checkGrant, spentIn, strictest, unreserved } from './purse.ts'
import { noSpending } from './reservations.ts'
import { brokenResult } from './run-result.ts'
import type { RunScope } from './run-scope.ts'

/** Starts the children of one composite. */
export interface Spawner {
  spawn<Out>(agent: Spawnable<Out>, input: Input, at: SpawnOptions): Promise<RunResult<Out>>
  /** The same without keeping the result, in a place of its own, and with a signal for this child alone. */
  start(agent: Spawnable, input: Input, at: SpawnOptions & Started, place?: Place): Promise<RunResult<unknown>>
  /** What a child that has ended has seen. */
  labelOf(key: string): Label | undefined
  /** What a child has used that has ended. */
  usageOf(key: string): UsageReport | undefined
  /** What a child has used so far, with what it has set aside. */
  spentOf(key: string): Spent
  /** Whether a child has this id. */
  knows(id: string): boolean
}

/** How a child is started beyond what a composite can say. */
export interface Started extends Pick<Spawned, 'waits' | 'wanted' | 'within'> {
  readonly signal?: AbortSignal
}

/** A child as its composite wants it. */
interface Wanted extends Pick<SpawnOptions, 'exposeTurns'>, Started {
  readonly input: Input
  readonly inputHash: string
  readonly grant: Grant | undefined
  readonly filter: FilterDescriptor | undefined
  readonly secrets: SecretScope
}

/** Makes the spawner of a composite call. */
export function createSpawner(scope: RunScope, call: CallState, host: Spawning): Spawner {
  const { callId, toolName } = call.part
  const boundary: Boundary = { scope, call, memo: host.memo, wait: host.wait }
  const made = new Map<string, { readonly same: string; readonly result: Promise<RunResult<unknown>> }>()

  function spawn(
    agent: Spawnable,
    input: Input,
    at: SpawnOptions & Started,
    by: Crosser['by'],
    place: Place | undefined,
    keeps: boolean,
  ): Promise<RunResult<unknown>> {
    const { key, grant: asked } = at
    const filter = at.inputFilter && checkFilter(at.inputFilter)
    const own = planOf(agent)
    const id = `${callId}/${keyOf(key, scope)}`
    const grant = asked && checkGrant(asked)
    // Said now, what is wrong with it is the composite's to hear.
    messagesOf(input, positionId(id, 0, 'message', 'input'), own)
    const what = [own.name, scope.secrets.scrubber.tokenise(toJson(input)), toJson(grant ?? null)]
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
    child: Crosser,
    own: AgentPlan,
    { input, inputHash, grant, filter, secrets, exposeTurns = false, signal, waits, wanted, within }: Wanted,
    place: Place = () => scope.slots.enter('parallel'),
  ): Promise<RunResult<unknown>> {
    const { state, journal } = scope
    const { id } = child
    const plan = childPlan(scope.plan, own)
    const crossing = state.run?.children.has(id) ? undefined : crossesTo(boundary, child, input, filter)
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
            // What crosses a boundary says of itself what it is.
            const label = call.errand || crossed ? joinLabels() : joinLabels(call.label, bridgeOf(call).label)
            const left = grant && strictest(grant, unreserved(scope.remaining(), scope.children, state.run))
            // Set aside at once: siblings that start meanwhile get no more than the rest.
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
          const { input: begins } = given ?? givenTo(boundary, child, input, spawned)
          live = await carryChild(
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
    // oxlint-disable-next-line typescript/no-explicit-any -- the agent's type says what its output is
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

/** What a child that has joined came to, by its log. */
async function pastResult(scope: RunScope, id: string, plan: AgentPlan): Promise<RunResult<unknown>> {
  const child = scope.state.run?.children.get(id)
  if (!child) throw new ProvostError('call-open', `The child ${id} has no result.`)
  const known = knownLog(scope.sessionId)
  learn(known, await readLog(plan.store, child.log))
  return childResult(scope, child, plan, known.state)
}
