export { aiAgent } from './ui/ai-agent.ts'
export type { AiAgentOptions } from './ui/ai-agent-options.ts'
