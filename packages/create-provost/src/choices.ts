/** Name of a template. */
export type TemplateName = 'script' | 'server' | 'team' | 'next'

/** What a project can begin with. */
interface Template {
  readonly name: TemplateName
  readonly hint: string
  /** The script of its package.json that shows it at work. */
  readonly first: 'start' | 'dev'
}

/** The templates, in the order in which they are offered. */
export const templates: readonly Template[] = [
  { name: 'script', hint: 'one file: an agent with one tool', first: 'start' },
  { name: 'server', hint: 'an HTTP server with a chat page: streams, stops, asks for approval', first: 'start' },
  { name: 'team', hint: 'several agents, an approval, and sessions in SQLite', first: 'start' },
  { name: 'next', hint: 'a Next application with a chat page of useChat', first: 'dev' },
]

/** Name of a provider, or `none`. */
export type ProviderName = 'none' | 'anthropic' | 'openai'

/** A package of the AI SDK, one of its models, and the variable with its key. */
interface Library {
  readonly package: string
  readonly version: string
  readonly model: string
  readonly key: string
}

/** The library that a project without a provider names in its README and its `.env.example`. */
export const anthropic: Library = {
  package: '@ai-sdk/anthropic',
  version: '^4.0.105',
  model: 'anthropic/claude-sonnet-5',
  key: 'ANTHROPIC_API_KEY',
}

/** Where the answers of a project come from. With `none`, a scripted model answers. */
export const providers: readonly { readonly name: ProviderName; readonly library?: Library }[] = [
  { name: 'none' },
  { name: 'anthropic', library: anthropic },
  {
    name: 'openai',
    library: { package: '@ai-sdk/openai', version: '^4.0.118', model: 'openai/gpt-5.4-mini', key: 'OPENAI_API_KEY' },
  },
]
