// What a plain agent needs. Each other part is an entry of its own, beside this file.

// Agents and their runs.
export { createAgent, RunState } from '@provost/agent'
export type {
  AbortOptions,
  Agent,
  AgentOptions,
  ResumeRule,
  AgentStream,
  Progress,
  ProgressArtifact,
  ProgressFilter,
  ProgressMeta,
  ResumeOptions,
  RunOptions,
} from '@provost/agent'
export type {
  CompensateOptions,
  EventListeners,
  MessageBatch,
  Messages,
  FollowUps,
  SendMode,
  Session,
  SessionBeginning,
  SessionListeners,
  SessionOptions,
} from '@provost/agent'
export type {
  ApprovalDecision,
  BatchDecision,
  DefinitionChange,
  RunChange,
  ApprovalVerdict,
  Decisions,
  Grant,
  OnApproval,
  OnBatch,
  OnInput,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
  Principal,
  RemoteError,
  RemoteResult,
  RunResult,
  RunStatus,
  UncertainDecision,
} from '@provost/core'

// Orchestrators: how a run reaches its result.
export { agentic } from '@provost/agent'
export { planAndExecute, planEvents, react } from '@provost/teams'
export type { ExecuteOptions, Orchestrator, OrchestratorRun, StepOptions, StepRequest } from '@provost/agent'
export type { MadePlan, PlanAndExecuteOptions, PlanStep, PlanStepEnd, ReactOptions } from '@provost/teams'

// Tools and their schemas.
export { fromAiTool, sandboxed, rich, secretRef, tool, toolSet } from '@provost/tools'
export { z } from 'zod'
export type {
  AiTool,
  AiToolMore,
  Executed,
  ResultReader,
  ResultReaders,
  ResultSlice,
  Rich,
  RichMore,
  SecretSource,
  ToolCollision,
  ToolCollisions,
  ToolOptions,
  PlainTool,
  ToolRecord,
  ToolRegistry,
  ToolSource,
  ToolsInput,
} from '@provost/tools'
export type {
  AnySchema,
  ArgRole,
  Compensation,
  CompensationContext,
  CompositeContext,
  CompositeOps,
  ContextOf,
  SecretRef,
  Effect,
  EffectScope,
  EffectSource,
  EffectState,
  EffectStatus,
  ExecResult,
  ImpossibleEffect,
  UndoneEffect,
  FileRange,
  FromJsonSchema,
  Isolation,
  JsonSchema,
  NeedsContext,
  ParsedBy,
  Runtime,
  RuntimeFile,
  StandardJSONSchemaV1,
  StandardSchemaV1,
  Tool,
  ToolContext,
  ToolExample,
  ToolInfo,
  ToolQuestion,
  Truncation,
  WaitAbout,
  WrittenFor,
} from '@provost/core'

// Models, usage and prices.
export { isModelCleared, modelFallback, modelName, priceOf, cooldownOf, windowOf } from '@provost/provider'
export type { FallbackOptions, Price, PriceTable, Rates, CooldownState } from '@provost/provider'
export type {
  ClearedModel,
  ErrorClass,
  FinishReason,
  LanguageModelV3,
  LanguageModelV4,
  ModelSettings,
  ModelSpec,
  ModelUsage,
  NamedModel,
  OneModel,
  Tier,
  Usage,
  UsageReport,
} from '@provost/core'

// Messages and labels.
export { toModelMessages } from '@provost/provider'
export { joinLabels, systemClock, textOf, trustedLabel, untrustedLabel } from '@provost/core'
export type {
  Confidentiality,
  CustomPart,
  FilePart,
  FileSource,
  Input,
  Integrity,
  Json,
  JsonObject,
  JsonPointer,
  Label,
  LabelInit,
  Message,
  MessageInit,
  MessagePurpose,
  ModelMessage,
  Part,
  ReasoningPart,
  Role,
  TextPart,
  Timestamp,
  ToolCallPart,
  ToolOutput,
  ToolResultPart,
} from '@provost/core'

// Agents that work for each other.
export { evaluatorOptimizer, fanOut, runFanOut } from '@provost/teams'
export type { AgentToolInput, ToToolOptions } from '@provost/agent'
export type {
  Evaluator,
  EvaluatorOptimizerOptions,
  EvaluatorVerdict,
  FanOutOptions,
  Optimized,
  TeamOptions,
} from '@provost/teams'
export type {
  ChildPlace,
  ChildWait,
  FanOut,
  FanOutChild,
  FanOutResult,
  MergeStrategy,
  Spawnable,
  SpawnOptions,
} from '@provost/core'

// Agents that hand off to each other.
export { handoff } from '@provost/agent'
export { applyFilter, filters } from '@provost/sessions'
export type { TransferResult, Handoff, HandoffOptions, HandoffTarget } from '@provost/agent'
export type { SensitivityRule } from '@provost/core'

// Events and errors.
export { PendingInputError } from '@provost/agent'
export { assertNever, defineEvent, eventFilter, isEventOf, ProvostError, SessionBusyError } from '@provost/core'
export type {
  AgentEvent,
  DefinedEvent,
  ErrorInfo,
  ErrorSource,
  EventBase,
  EventFamily,
  EventIn,
  EventOf,
  EventPayloads,
  EventType,
  GovernanceRow,
  HandoffMode,
  MergeKind,
  ProvostErrorOptions,
  ResultSource,
} from '@provost/core'

// Extensions and their hooks.
export { argsByRole, changeText, defineExtension, displayText, isCallTo, questionText } from '@provost/core'
export type {
  Answer,
  Ask,
  CallAnswer,
  CallOutcome,
  ChildResult,
  EmittedByExtensions,
  Extension,
  ExtensionOptions,
  FailedAttempt,
  FailureAnswer,
  Flow,
  FlowAnswer,
  FlowKind,
  Generated,
  GenerateRequest,
  HookContext,
  HookName,
  Hooks,
  MaybePromise,
  ModelFailure,
  ModelOutcome,
  ModelRequest,
  TimedOperation,
  TimedOperationOf,
  RequestEdit,
  ResponseAnswer,
  RoleValue,
  SessionContext,
  Skill,
  Stop,
  ToolCall,
  ToolResult,
  View,
  ViewEdit,
  ViewTrigger,
  Watching,
} from '@provost/core'

// Secrets in texts.
export { createScrubber } from '@provost/core'
export type { InboundPolicy, Scrubber } from '@provost/core'

// The log, its store and the loop.
export { advance, foldLog, nextAction, pendingWork, resolveWaits, resumeLoop, runLoop, startLoop } from '@provost/agent'
export type {
  FinalFailure,
  SessionState,
  Loop,
  LoopDriver,
  ModelAnswered,
  ModelStep,
  NextAction,
  ReadyCall,
  StepOutcome,
  Authorization,
} from '@provost/agent'
export { jsonlStore, memoryStore } from '@provost/sessions'
export type { EffectClaim, EffectIdentity, JsonlStoreOptions, MemoryStoreOptions, Torn } from '@provost/sessions'
export type {
  Appended,
  AppendPosition,
  Clock,
  ClockTimer,
  Delivery,
  Entry,
  EntryBody,
  EntryOf,
  FilterDescriptor,
  Fold,
  Lease,
  LeaseState,
  LeaseTerms,
  Manifest,
  NewEntry,
  SessionAccess,
  SessionInfo,
  SessionStatus,
  TransientBuffer,
  TransientPiece,
  SessionStore,
  StoreLocation,
  SweepOptions,
  Tombstone,
  TimerOptions,
} from '@provost/core'
