import type {
  ChildResult,
  ErrorInfo,
  FanOut,
  FanOutChild,
  FanOutResult,
  Grant,
  Json,
  MaybePromise,
  RunResult,
} from '@provost/core'
import { ProvostError, joinLabels, textOf, toErrorInfo, toJson, untrustedLabel, signalAfter } from '@provost/core'
import { createSlots } from '@provost/tools'

import type { ContextBoundary } from '../handoff/context-boundary.ts'
import { isJudged, outputFrom } from '../handoff/context-boundary.ts'
import { runHooks } from '../hooks/run-hooks.ts'
import { messageOf } from '../messages/message.ts'
import { keyOf } from '../operations/operation-key.ts'
import type { Operation, Operations } from '../operations/operations.ts'
import { costOfUsage, sumCost, sumUsage } from '../state/usage.ts'
import { withinJoin } from '../tree/async-context.ts'
import { budgetExceeded } from '../tree/budget-extension.ts'
import { checkGrant } from '../tree/budget.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import type { Place } from './child-run.ts'
import { joinedRuns, labelOfRuns, usagesOf } from './joined-runs.ts'
import { mergeChildren, strategyOf } from './merge.ts'
import type { Spawner } from './spawn.ts'

/** What a fan-out needs from its composite. */
export interface FanOutHost {
  readonly ctx: RunContext
  readonly call: CallState
  readonly spawner: Spawner
  /** The context boundary between the run and its children. */
  readonly boundary: ContextBoundary
  /** Runs `fn` once for each key. */
  memo<T>(key: string, fn: (operation: Operation) => Promise<T>): Promise<T>
  readonly operations: Operations
  readonly signal: AbortSignal
}

/** Runs children in parallel and merges their outputs. Each is a child of the composite's run. */
export async function fanOut<T>(host: FanOutHost, options: FanOut<T>, key: string): Promise<FanOutResult<T>> {
  const { ctx, call, spawner } = host
  const { children, perBudget = {}, maxConcurrentChildren = 4, where } = options
  const strategy = strategyOf(options.mergeStrategy)
  const { callId } = call.part
  const keys = children.map((child, index) => ('agent' in child ? (child.key ?? `${index}`) : child.agentId))
  checkOptions(keys)
  checkGrant(perBudget)
  const { clock } = ctx.state
  const began = clock.elapsed()
  ctx.logWriter.emit(
    'fanout.start',
    {
      callId,
      strategy: strategy.kind,
      children: children.map((child, index) =>
        'agent' in child
          ? {
              key: keys[index] ?? '',
              agent: child.agent.name,
              runId: `${callId}/${keyOf(`${key}.${keys[index]}`, ctx)}`,
            }
          : { key: keys[index] ?? '', agent: child.agentId },
      ),
    },
    ctx.step,
  )
  const slots = createSlots(maxConcurrentChildren)
  const won = new AbortController()
  const results: (ChildResult | undefined)[] = children.map(() => undefined)
  let first: ChildResult | undefined

  async function runChild(child: FanOutChild, index: number, held: () => void): Promise<void> {
    const name = keys[index] ?? ''
    const at = `${key}.${name}`
    let fresh = true
    const place: Place = () => {
      if (!fresh) return slots.enter('parallel')
      fresh = false
      return held
    }
    try {
      const result =
        'agent' in child
          ? childOf(
              name,
              at,
              child.agent.name,
              await spawner.start(
                child.agent,
                child.input,
                { key: at, grant: perBudget, ...(where && { where }), signal: won.signal },
                place,
              ),
            )
          : await invoked(host, child, at, perBudget, won.signal)
      results[index] = result
      const { status, usage, cost, label, error } = result
      ctx.logWriter.emit(
        'fanout.child',
        { callId, key: name, status, usage, ...(cost !== undefined && { cost }), label, ...(error && { error }) },
        ctx.step,
      )
      if (strategy.kind === 'first-success' && status === 'completed' && !first) {
        first = result
        won.abort(new ProvostError('not-needed', 'Another child completed first.'))
      }
    } finally {
      if (fresh) held()
    }
  }

  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  for (const [index, child] of children.entries()) {
    const held = await slots.enter('parallel')
    if (won.signal.aborted || failure) {
      held()
      break
    }
    const one = runChild(child, index, held)
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => running.delete(one))
    running.add(one)
  }
  await Promise.all(running)
  if (failure) throw failure.error
  const all = results.map((result, index) => result ?? unstarted(keys[index] ?? '', children[index]))
  const offered = await throughHooks(ctx, all)
  const winner = first && offered.find((child) => child.key === first?.key)
  const merged = await mergeChildren(strategy, winner ? [winner] : offered, async (judge, task) =>
    spawner.start(judge, task, { key: `${key}.judge` }),
  )
  const judgeLabel = merged.judged && spawner.labelOf(`${key}.judge`)
  const label = joinLabels(...merged.used.map((child) => child.label), ...(judgeLabel ? [judgeLabel] : []))
  const used = merged.used.map((child) => child.key)
  ctx.logWriter.emit(
    'fanout.merged',
    { callId, strategy: strategy.kind, used, label, durationMs: clock.elapsed() - began },
    ctx.step,
  )
  const reports = [...all, ...(merged.judged ? [merged.judged] : [])]
  const cost = sumCost(reports)
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the strategy's type says of its output
    output: merged.output as T,
    children: all,
    used,
    usage: sumUsage(reports.map(({ usage }) => usage)),
    ...(cost !== undefined && { cost }),
    label,
  }

  function childOf(name: string, at: string, agent: string, result: RunResult<unknown>): ChildResult {
    const { status, text, usage, cost: paid, error, output } = result
    return {
      key: name,
      agent,
      status,
      ...(status === 'completed' && { output }),
      text: status === 'completed' && text === '' ? lastTextOf(result) : text,
      ...(error && { error: toErrorInfo(error) }),
      usage,
      ...(paid !== undefined && { cost: paid }),
      label: spawner.labelOf(at) ?? untrustedLabel(agent),
    }
  }
}

function lastTextOf({ messages }: RunResult<unknown>): string {
  const answer = messages.findLast(({ role }) => role === 'assistant')
  return answer ? textOf(answer) : ''
}

/** The recorded outcome of work done in this process. */
interface Invoked {
  readonly output?: Json
  readonly error?: ErrorInfo
  readonly runs?: readonly string[]
}

/** Runs a child that is a function of this process. Its outcome is memoised, so that it runs once. */
async function invoked(
  { ctx, boundary, spawner, operations, memo, signal }: FanOutHost,
  { agentId, invoke }: Extract<FanOutChild, { agentId: string }>,
  at: string,
  grant: Grant,
  won: AbortSignal,
): Promise<ChildResult> {
  const { durationMs, ...spendable } = grant
  const time = durationMs === undefined ? undefined : signalAfter(ctx.state.clock, Math.ceil(durationMs))
  const all = AbortSignal.any([signal, won, ...(time ? [time] : [])])
  /** Keys of the agents that it ran. */
  let runs: readonly string[] = []
  const spent = (): Pick<ChildResult, 'usage' | 'cost' | 'label'> => {
    const usage = sumUsage(usagesOf(spawner, runs))
    const cost = costOfUsage(usage)
    return { usage, ...(cost !== undefined && { cost }), label: labelOfRuns(spawner, runs, untrustedLabel(agentId)) }
  }
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const end = (): void => ended.reject(all.reason)
  all.addEventListener('abort', end, { once: true })
  if (all.aborted) end()
  try {
    const came = await memo(at, async (operation): Promise<Invoked> => {
      const { join, keys } = joinedRuns(spawner, operations, operation, at, spendable, all)
      runs = keys
      try {
        const work = withinJoin(ctx, join, async () => invoke({ signal: all }))
        return { output: toJson(await Promise.race([work, ended.promise])), runs: keys }
      } catch (thrown) {
        if (signal.aborted || won.aborted) throw thrown
        const over = { code: budgetExceeded, message: `The grant of ${durationMs} ms is used up.` }
        return { error: time?.aborted ? over : toErrorInfo(thrown), runs: keys }
      }
    })
    const { output = null, error } = came
    runs = came.runs ?? []
    const own = spent()
    const failed = (info: ErrorInfo): ChildResult => {
      return { key: agentId, agent: agentId, status: 'failed', text: '', error: info, ...own }
    }
    if (error) return failed(error)
    const text = typeof output === 'string' ? output : JSON.stringify(output)
    const done = { key: agentId, agent: agentId, status: 'completed', ...own } as const
    if (!isJudged(boundary)) return { ...done, output, text }
    const child = { id: `${boundary.call.part.callId}/${keyOf(at, ctx)}`, agent: agentId, by: 'fanout' } as const
    const answer = messageOf(
      { role: 'assistant', content: text },
      ctx.state.clock,
      `${child.id}.answer`,
      own.label,
      agentId,
    )
    const back = await outputFrom(boundary, child, [answer], own.label)
    if ('refused' in back) return failed(toErrorInfo(back.refused))
    if (!back.rewritten) return { ...done, output, text }
    const instead = back.payload.map((message) => textOf(message)).join('\n\n')
    return { ...done, output: instead, text: instead }
  } catch (thrown) {
    signal.throwIfAborted()
    if (!won.aborted) throw thrown
    return { key: agentId, agent: agentId, status: 'aborted', text: '', ...spent() }
  } finally {
    all.removeEventListener('abort', end)
  }
}

/** Returns the children that the `merge` hooks pass on. */
function throughHooks(scope: RunContext, children: readonly ChildResult[]): MaybePromise<readonly ChildResult[]> {
  return runHooks(scope, 'merge', children, {
    shown: (offered) => joinLabels(...offered.map((child) => child.label)),
    call: (hook, ctx, offered) => hook(offered, ctx),
    answered: (answer) => [...answer],
  })
}

function unstarted(key: string, child: FanOutChild | undefined): ChildResult {
  const agent = child && 'agent' in child ? child.agent.name : key
  return { key, agent, status: 'aborted', text: '', usage: { byModel: {} }, cost: 0, label: untrustedLabel(agent) }
}

function checkOptions(keys: readonly string[]): void {
  const seen = new Set<string>()
  const doubled = keys.find((key) => seen.size === seen.add(key).size)
  if (keys.length === 0) throw invalid('has no children')
  if (doubled !== undefined) throw invalid(`has two children with the key ${doubled}`)
}

function invalid(what: string): ProvostError {
  return new ProvostError('invalid-fan-out', `The fan-out ${what}.`, {
    hint: 'Pass at least one child, and give each child a unique key.',
  })
}
