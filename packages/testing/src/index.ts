export * from './provider/aimock.ts'
export * from './process/crash.ts'
export * from './process/effect-file.ts'
export * from './process/effect-server.ts'
export * from './process/manual-clock.ts'
export * from './process/postgres-server.ts'
export * from './process/restate-server.ts'
export * from './process/tcp-proxy.ts'
export * from './conformance/runtime-conformance.ts'
export * from './engine/conformance.ts'
export type { EngineCall, EngineChief, EngineDesk, EngineTool } from './engine/engine-desk.ts'
export type {
  EngineCheck,
  EngineModule,
  EngineParts,
  EnginePlace,
  EngineSubject,
  EngineWorker,
  NewEngineSession,
  StoreOutage,
} from './engine/subject.ts'
export { recordedSteps } from './model/recorded-steps.ts'
export * from './model/scripted-model.ts'
export type { ScriptedPrompt, ScriptedStep, ScriptedToolCall } from './model/scripted-step.ts'
export * from './store/conformance.ts'
export type { RemotePlace, StoreCheck, StorePlace, StoreSubject } from './store/subject.ts'
export * from './conformance/well-formed.ts'
export type { WireFailure, WireStep } from './provider/wire-step.ts'
