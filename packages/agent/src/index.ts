export type { Agent, SessionBeginning } from './types/agent.ts'
export type { AgentStream } from './types/stream.ts'
export { createAgent } from './agent/create-agent.ts'
export type { AbortOptions, FollowUps, SendMode, With } from './types/stream.ts'
export type { AgentMode, AgentOptions } from './types/agent.ts'
export type { ResumeOptions, RunOptions } from './types/session.ts'
export type {
  CompensateOptions,
  EventListeners,
  MessageBatch,
  Messages,
  Session,
  SessionListeners,
  SessionOptions,
  SessionRest,
} from './types/session.ts'
export { compensatedSession, compensationLog } from './compensation/compensation-log.ts'
export type { CallStage, CallState, SessionState, RunProgress } from './types/session-state.ts'
export { resolveWaits } from './session/resolve-waits.ts'
export { foldLog } from './reducers/reducer.ts'
export type { LogEvents, LoggedEvent } from './log/events-from-log.ts'
export { logEvents } from './log/events-from-log.ts'
export type { TransferResult, FinalFailure, ModelAnswered, StepOutcome, Repair, Authorization } from './types/loop.ts'
export type { Loop, LoopDriver, ModelStep, ReadyCall } from './loop/driver.ts'
export { advance } from './loop/advance.ts'
export { resumeLoop, startLoop } from './loop/open-loop.ts'
export { runLoop } from './orchestrator/run-loop.ts'
export { agentic } from './definition/agentic.ts'
export type { ExecuteOptions, Orchestrator, OrchestratorRun, StepOptions, StepRequest } from './types/orchestrator.ts'
export type { Handoff, HandoffTarget, ResumeRule } from './types/agent.ts'
export type { HandoffOptions } from './definition/handoff.ts'
export { handoff } from './definition/handoff.ts'
export type { AgentToolInput, ToToolOptions } from './types/agent.ts'
export { PendingInputError } from './result/pending-input-error.ts'
export type { NextAction } from './types/session-state.ts'
export type { PendingWait, WaitingCall } from './state/next-action.ts'
export { nextAction, pendingWait, pendingWork } from './state/next-action.ts'
export { lastModel } from './state/run-summary.ts'
export { sessionCost, sessionUsage } from './state/usage.ts'
export type { ThrowMeaning } from './hooks/on-throw.ts'
export { onThrow } from './hooks/on-throw.ts'
export type { Asker } from './agent/who-asks.ts'
export { whoAsks } from './agent/who-asks.ts'
export type { Progress, ProgressArtifact, ProgressFilter, ProgressMeta } from './types/agent.ts'
export { RunState } from './run/run-state.ts'
