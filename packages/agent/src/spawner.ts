import { hash } from 'node:crypto'

import type { Grant, Input, Label, RunResult, Spawnable, SpawnOptions } from '@provost/core'
import { joinLabels, positionId, ProvostError, toJson } from '@provost/core'
import type { SecretScope } from '@provost/tools'
import { childSecrets } from '@provost/tools'

import { deepest, depthOf, diverged, keyOf, tooDeep } from './act-key.ts'
import type { AgentPlan } from './agent-plan.ts'
import { bridgeOf } from './bridge-fold.ts'
import { childPlan } from './child-plan.ts'
import { carryChild, childResult } from './child-run.ts'
import type { Place, Spawning } from './child-run.ts'
import { spawnedEntry } from './draft.ts'
import { hashJson } from './entry.ts'
import { messagesOf } from './input.ts'
import { knownLog, learn, readLog } from './known-log.ts'
import { planOf } from './known-plan.ts'
import type { CallState } from './log-state.ts'
import { checkGrant, strictest, unreserved } from './purse.ts'
import type { RunScope } from './run-scope.ts'

/** Starts the children of one composite. */
export interface Spawner {
  spawn<Out>(agent: Spawnable<Out>, input: Input, at: SpawnOptions): Promise<RunResult<Out>>
  /** The same without keeping the result, in a place of its own, and with a signal for this child alone. */
  start(
    agent: Spawnable,
    input: Input,
    at: SpawnOptions & { readonly signal?: AbortSignal },
    place?: Place,
  ): Promise<RunResult<unknown>>
  /** What a child that has ended has seen. */
  labelOf(key: string): Label | undefined
  /** Whether a child has this id. */
  knows(id: string): boolean
}

/** Makes the spawner of a composite call. */
export function createSpawner(scope: RunScope, call: CallState, host: Spawning): Spawner {
  const { callId, toolName } = call.part
  const made = new Map<string, { readonly same: string; readonly result: Promise<RunResult<unknown>> }>()

  function spawn(
    agent: Spawnable,
    input: Input,
    at: SpawnOptions & { readonly signal?: AbortSignal },
    place: Place | undefined,
    keeps: boolean,
  ): Promise<RunResult<unknown>> {
    const { key, grant: asked } = at
    const own = planOf(agent)
    const id = `${callId}/${keyOf(key)}`
    const grant = asked && checkGrant(asked)
    // Said now, what is wrong with it is the composite's to hear.
    messagesOf(input, positionId(id, 0, 'message', 'input'), own.name)
    const same = hashJson([own.name, scope.secrets.scrubber.tokenise(toJson(input)), toJson(grant ?? null)])
    const known = scope.state.run?.children.get(id)
    const before = made.get(id)?.same ?? known?.inputHash
    if ((before !== undefined && before !== same) || host.knows(id)) throw diverged(toolName, key)
    const inFlight = made.get(id)
    if (inFlight) return inFlight.result
    if (!known && depthOf(scope, call) + (scope.lineage?.parents.length ?? 0) >= deepest) throw tooDeep(toolName)
    const secrets = childSecrets(scope.secrets, own.secrets, at)
    const result = run(id, own, input, same, grant, secrets, at.signal, place)
    if (keeps) made.set(id, { same, result })
    return result
  }

  async function run(
    id: string,
    own: AgentPlan,
    input: Input,
    inputHash: string,
    grant: Grant | undefined,
    secrets: SecretScope,
    signal: AbortSignal | undefined,
    place: Place = () => scope.slots.enter('parallel'),
  ): Promise<RunResult<unknown>> {
    const { state, journal } = scope
    const plan = childPlan(scope.plan, own)
    let live: RunResult<unknown> | undefined
    await host.acts.run(id, (one) =>
      host.sure(
        (async () => {
          const fresh = !state.run?.children.has(id)
          if (fresh) {
            const log = `${scope.sessionId}/child/${hash('sha256', id).slice(0, 32)}`
            // What crosses a handoff says of itself what it is.
            const label = call.errand ? joinLabels() : joinLabels(call.label, bridgeOf(call).label)
            const left = grant && strictest(grant, unreserved(scope.remaining(), scope.children.values()))
            await journal.append([
              spawnedEntry(state, call, { callId: id, log, agent: own.name, inputHash }, label, left),
            ])
          }
          const child = state.run?.children.get(id)
          if (child) live = await carryChild({ scope, child, plan, input, secrets, one, host, place, signal }, fresh)
        })(),
      ),
    )
    return live ?? (await pastResult(scope, id, plan))
  }

  return {
    knows: (id) => made.has(id) || scope.state.run?.children.has(id) === true,
    // oxlint-disable-next-line typescript/no-explicit-any -- the agent's type says what its output is
    async spawn(agent, input, at): Promise<RunResult<any>> {
      return spawn(agent, input, at, undefined, true)
    },
    start: async (agent, input, at, place) => spawn(agent, input, at, place, false),
    labelOf: (key) => scope.state.run?.children.get(`${callId}/${keyOf(key)}`)?.joined?.label,
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
