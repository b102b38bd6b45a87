import type { Json, SessionStore } from '@provost/core'
import type { DataFlowPolicyOptions, DataFlowRule, PolicyTest } from '@provost/governance'
import { exportSession } from '@provost/sessions'

import type { OperationSetup } from '../api/operation-setup.ts'
import { whatIfBody } from '../console-answers/console-query.ts'
import type { EditedPolicy } from '../console-answers/console-query.ts'
import type { WhatIfAnswer, WhatIfVerdict } from '../console-answers/insight-answer.ts'
import { rulesAnswer, whatIfAnswer } from '../console-answers/insight-schema.ts'
import { withheld } from '../console-logs/withhold.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { badRequest } from '../http/request-error.ts'
import type { ConsoleAccess } from './console-access.ts'
import { recordAct } from './console-audit.ts'
import { json } from './console-json.ts'
import type { ConsoleStore } from './console-store.ts'

type Verdict = PolicyTest['calls'][number]['verdict']

/** Characters of all exports that one request judges, and calls of its answer. */
const mostLength = 32_000_000
const mostCalls = 2_000

/** Returns the routes that judge recorded calls by another policy. They call no model and no tool. */
export function whatIfOperations(
  { host }: OperationSetup,
  { store }: ConsoleStore,
  access: ConsoleAccess,
): readonly Operation[] {
  return [
    operation({
      method: 'get',
      path: '/api/console/policy/rules',
      operationId: 'consolePolicyRules',
      summary: 'For operators: the sets of rules of which a policy for `what-if` is made.',
      success: 200,
      answer: rulesAnswer,
      async handle({ principal }) {
        await access.roleFor(principal, 'view')
        const { presets } = await import('@provost/governance')
        return json({
          sets: Object.entries(presets).map(([set, rules]) => ({ set, rules: rules.map(({ name }) => name) })),
        })
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/policy/what-if',
      operationId: 'consoleWhatIf',
      summary:
        'For operators: what another policy would have decided on the recorded calls that write or send. After a changed verdict of a run, further ones are counterfactual.',
      body: whatIfBody,
      success: 200,
      answer: whatIfAnswer,
      async handle({ principal, body: { sessions, policy } }) {
        const found = await Promise.all([...new Set(sessions)].map((id) => access.session(principal, id)))
        const isCleared = found.every(({ role }) => role.cleared)
        const { presets, testPolicy } = await import('@provost/governance')
        const options = policyOf(policy, presets[policy.set])
        const evidence = questionOf(policy)
        for (const { id, owner } of found) {
          await recordAct(store, id, { principal, rule: 'console-what-if', agent: owner.agent, evidence })
        }
        const agents = host.agentNames.flatMap((name) => host.agentNamed(name) ?? [])
        const test = await testPolicy(await exportsOf(store, sessions), { policy: options, agents })
        const calls = test.calls.slice(0, mostCalls).map((call): WhatIfAnswer['calls'][number] => {
          const {
            session: sessionId,
            log,
            callId,
            agent,
            tool,
            before,
            verdict,
            change,
            counterfactual,
            ran,
            human,
          } = call
          return {
            ...{ sessionId, log, callId, agent, tool, change, counterfactual, ran },
            arguments: call.arguments.map(({ path, role, origin, value }) => ({
              ...{ path, role, value: isCleared ? value : withheld },
              ...(origin !== undefined && { origin }),
            })),
            before: shown(before, isCleared),
            would: shown(verdict, isCleared),
            ...(human && { human: human.decision }),
          }
        })
        return json({ calls, counts: { ...test.counts }, more: test.calls.length > mostCalls } satisfies WhatIfAnswer)
      },
    }),
  ]
}

/** Names that the record of a question has of each list: the lists may be long, and each session gets the record. */
const mostNames = 20

/** Returns a question as its record has it. */
function questionOf({ set, onViolation = 'ask', ...lists }: EditedPolicy): Json {
  const named = Object.entries(lists).map(([list, names = []]) => [list, names.slice(0, mostNames)] as const)
  return { set, onViolation, ...Object.fromEntries(named.filter(([, names]) => names.length > 0)) }
}

/** Reasons of rules quote values. */
function shown({ decision, rule, reason, missing }: Verdict, isCleared: boolean): WhatIfVerdict {
  return {
    decision,
    ...(rule !== undefined && { rule }),
    ...(reason !== undefined && { reason: isCleared ? reason : withheld }),
    ...(missing && { missing: [...missing] }),
  }
}

/** @throws HttpError 400 for a rule that the set does not have */
function policyOf(
  { without = [], deny = [], ask = [], onViolation = 'ask' }: EditedPolicy,
  set: readonly DataFlowRule[],
): DataFlowPolicyOptions {
  const known = new Set(set.map(({ name }) => name))
  const unknown = without.find((name) => !known.has(name))
  if (unknown !== undefined) {
    throw badRequest(`The set has no rule ${unknown}. Its rules: ${[...known].join(', ')}.`)
  }
  const denied = new Set(deny)
  const asked = new Set(ask)
  // The names of functions are the names of rules.
  const deniedTool: DataFlowRule = ({ call }) =>
    denied.has(call.tool.name) ? { deny: `The policy denies ${call.tool.name}.` } : undefined
  const askedTool: DataFlowRule = ({ call }) =>
    asked.has(call.tool.name)
      ? { ask: { reason: `The policy asks before ${call.tool.name}.` }, yields: true }
      : undefined
  return {
    mode: 'enforce',
    onViolation,
    rules: [deniedTool, askedTool, ...set.filter(({ name }) => !without.includes(name))],
  }
}

async function exportsOf(store: SessionStore, sessions: readonly string[]): Promise<readonly string[]> {
  const texts: string[] = []
  let length = 0
  for (const id of new Set(sessions)) {
    let text = ''
    for await (const line of exportSession(store, id)) {
      text += line
      length += line.length
      if (length > mostLength) throw badRequest('These sessions are too large together. Name fewer of them.')
    }
    texts.push(text)
  }
  return texts
}
