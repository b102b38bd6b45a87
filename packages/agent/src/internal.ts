/**
 * The contract between @provost/agent and the packages built on it: @provost/teams, @provost/replay, @provost/governance,
 * @provost/guard and @provost/server. It is not for applications: it may change in any release.
 */

/** Whether a value is an agent, and the plan of an agent with its options. */
export { isAgent, resolvedAgentOf } from './definition/agent-registry.ts'
export type { ResolvedAgent } from './types/resolved-agent.ts'

/** Runs work as the only composite call of a run: with a log, children, budgets and governance. */
export { runStandalone } from './standalone/run-standalone.ts'
/** Stops the timer of a session that its process drops. */
export { stopWaking } from './session/session-runner.ts'
/** Rejects invalid options of a fan-out, and those that neither it nor its caller takes. */
export { checkFanOut } from './definition/known-child-options.ts'
/** Rejects a judge that is neither an agent nor a model. */
export { checkJudge } from './definition/known-child-options.ts'
/** Returns the judge that an option gives: an agent, or a new one with a model. */
export { judgeAgent } from './children/judge-agent.ts'
/** Rejects invalid decisions on waits. */
export { decisionsOf } from './definition/known-options.ts'
/** Returns the check of an option: whose `kind` selects further options, or whose values satisfy a condition. */
export { aFunction, countFromOne, must, ofKind } from './definition/option-checks.ts'
/** Returns an input as JSON that identifies it. */
export { inputJson } from './messages/input-json.ts'
/** Returns the messages of an input, checked and labelled. */
export { messagesOf } from './messages/read-input.ts'
/** Return the usage and the cost of several runs. */
export { sumCost, sumUsage } from './state/usage.ts'

/** What the loop needs from the owner of a log. */
export type { Driver } from './loop/driver.ts'
/** Whether a call can advance without an answer from outside. */
export { canAdvance } from './state/next-action.ts'
/** Applies the next entry of a log to its state. */
export { reduceEntry } from './reducers/reducer.ts'
/** Returns the value of a fold over the entries of a state. */
export { foldNow } from './hooks/fold-value.ts'
/** Returns the state of an empty log. */
export { emptySessionState } from './state/session-state.ts'
/** Returns a call of the current step, of the model or of a composite. */
export { callOf } from './state/session-state.ts'
/** Returns the tool call that hooks receive. */
export { toolCall } from './state/tool-call.ts'
/** Return the entries of a call: its authorization, its start, its result, and the answers to what is asked about it. */
export { decidedEntries, settledEntry, startedEntry, unstartedEntry } from './entries/call-entries.ts'
export { resolvedEntries } from './entries/decision-entries.ts'
/** Returns an entry at a position, the position of a run's present step, and the hash that an approval is bound to. */
export { hashJson, newEntry, placeOf } from './state/entry.ts'
/** Returns what a question about a call is about. */
export { subjectOf } from './question/subject.ts'
/** Returns what a handoff, or the input of a child, transfers of the state before its entry. */
export { transferOf } from './messages/transferred-context.ts'
/** Read the answers that `resolved` entries record: to an approval, and of a remote tool. */
export { readVerdict } from './reducers/wait-reducer.ts'
export { readRemoteValue } from './messages/remote-value.ts'
/** Names in `by`: of an expired wait, and of a reconciled call. */
export { clock } from './reducers/wait-reducer.ts'
export { lookedUpBy } from './entries/call-entries.ts'
