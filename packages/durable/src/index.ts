export { restateEngine } from './restate-engine.ts'
export type { RestateEngineOptions, TenantLimit } from './restate-options.ts'
