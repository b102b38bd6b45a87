export type { Agent, SessionBeginning } from './types/agent.ts'
export type { AgentStream } from './types/stream.ts'
export { createAgent } from './agent/create-agent.ts'
export type { AbortOptions, SendMode, With } from './types/stream.ts'
export type { AgentOptions } from './types/agent.ts'
export type { ResumeOptions, RunOptions } from './types/session.ts'
export type { EventListeners, Messages, Session, SessionListeners, SessionOptions } from './types/session.ts'
export type { CallStage, CallState, SessionState, RunProgress } from './types/session-state.ts'
export { foldLog } from './reducers/reducer.ts'
export type { LogEvents, LoggedEvent } from './log/events-from-log.ts'
export { logEvents } from './log/events-from-log.ts'
export type {
  TransferResult,
  FinalFailure,
  Loop,
  LoopAnswers,
  LoopAsk,
  LoopAsks,
  LoopHandlers,
  ModelAnswered,
  Repair,
  Authorization,
} from './types/loop.ts'
export { drive, loop } from './orchestrator/loop.ts'
export type { PlanAndExecuteOptions, PlanEvent } from './orchestrator/plan-and-execute.ts'
export { planAndExecute } from './orchestrator/plan-and-execute.ts'
export type { ReactOptions } from './orchestrator/react.ts'
export { react } from './orchestrator/react.ts'
export { agentic } from './definition/agentic.ts'
export type { ExecuteOptions, Orchestrator, OrchestratorRun, StepOptions, StepRequest } from './types/orchestrator.ts'
export type { Handoff, HandoffTarget } from './types/agent.ts'
export type { HandoffOptions } from './definition/handoff.ts'
export { handoff } from './definition/handoff.ts'
export { filters } from './messages/filters.ts'
export type { ReplayedHandoff, ReplayedInput } from './handoff/replay-handoffs.ts'
export { replayHandoffs, replayInputs } from './handoff/replay-handoffs.ts'
export { applyFilter } from './messages/apply-filter.ts'
export type { AgentToolInput, ToToolOptions } from './types/agent.ts'
export type { FanOutOptions } from './types/agent.ts'
export { runFanOut } from './teams/run-fan-out.ts'
export type { Evaluator, EvaluatorOptimizerOptions, EvaluatorVerdict } from './types/agent.ts'
export type { Optimized } from './teams/evaluator-optimizer.ts'
export { evaluatorOptimizer } from './teams/evaluator-optimizer.ts'
export { PendingInputError } from './result/pending-input-error.ts'
export type { NextAction } from './types/session-state.ts'
export { nextAction, pendingWork } from './state/next-action.ts'
export type { ThrowMeaning } from './hooks/on-throw.ts'
export { onThrow } from './hooks/on-throw.ts'
export type { Asker } from './agent/who-asks.ts'
export { whoAsks } from './agent/who-asks.ts'
export type { ReplayDifference } from './replay/compare.ts'
export type { ReplayOptions } from './replay/replay-session.ts'
export { replaySession } from './replay/replay-session.ts'
export type { Progress, ProgressArtifact, ProgressFilter, ProgressMeta } from './types/agent.ts'
export { RunState } from './run/run-state.ts'
export { startEntries } from './orchestrator/initial-entries.ts'
