export type { Agent, AgentStream, SessionBeginning } from './agent.ts'
export { createAgent } from './agent.ts'
export type { AbortOptions, AgentOptions, ResumeOptions, RunOptions, SendMode, With } from './agent-options.ts'
export type { EventListeners, Messages, Session, SessionListeners, SessionOptions } from './session/session.ts'
export type { CallStage, CallState, LogState, RunFold } from './log-state.ts'
export { foldLog } from './fold.ts'
export type { LogEvents, LoggedEvent } from './log-events.ts'
export { logEvents } from './log-events.ts'
export type {
  Crossed,
  FinalFailure,
  Loop,
  LoopAnswers,
  LoopAsk,
  LoopAsks,
  LoopHandlers,
  ModelAnswered,
  Repair,
  Verdict,
} from './loop-asks.ts'
export { drive, loop } from './loop.ts'
export type { PlanAndExecuteOptions, PlanEvent } from './orchestrator/plan-and-execute.ts'
export { planAndExecute } from './orchestrator/plan-and-execute.ts'
export type { ReactOptions } from './orchestrator/react.ts'
export { react } from './orchestrator/react.ts'
export { agentic } from './orchestrator/agentic.ts'
export type {
  ExecuteOptions,
  Orchestrator,
  OrchestratorRun,
  StepOptions,
  StepRequest,
} from './orchestrator/orchestrator.ts'
export type { Handoff, HandoffOptions, HandoffTarget } from './handoff/handoff.ts'
export { handoff } from './handoff/handoff.ts'
export { filters } from './handoff/filter.ts'
export type { ReplayedHandoff, ReplayedInput } from './handoff/replay-handoffs.ts'
export { replayHandoffs, replayInputs } from './handoff/replay-handoffs.ts'
export { applyFilter } from './handoff/apply-filter.ts'
export type { AskedBy, ToToolOptions } from './agent-tool.ts'
export type { FanOutOptions } from './fan-out/run-fan-out.ts'
export { runFanOut } from './fan-out/run-fan-out.ts'
export type { Evaluator, EvaluatorOptimizerOptions, EvaluatorVerdict, Optimized } from './evaluator-optimizer.ts'
export { evaluatorOptimizer } from './evaluator-optimizer.ts'
export { WaitsForSomebodyError } from './waits-for-somebody.ts'
export type { Position } from './position.ts'
export { next, pendingWork } from './position.ts'
export type { Asker } from './question/who-asks.ts'
export { whoAsks } from './question/who-asks.ts'
export type { ReplayDifference } from './replay/compare.ts'
export type { ReplayOptions } from './replay/replay-session.ts'
export { replaySession } from './replay/replay-session.ts'
export type { Progress, ProgressArtifact, ProgressFilter, ProgressMeta } from './progress/progress.ts'
export { RunState } from './run-state.ts'
export { startEntries } from './start-entries.ts'
