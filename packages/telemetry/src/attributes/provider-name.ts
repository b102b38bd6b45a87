/** Provider names of the conventions, by the name in the AI SDK where the two differ. */
const names: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
}

interface ModelName {
  readonly provider: string
  readonly model: string
}

/** Cache: looked up once a model call, for few models. */
const known = new Map<string, ModelName>()
const mostKnown = 1000

/** Returns the provider and the model of a `provider/model`. */
export function splitModel(model: string): ModelName {
  let split = known.get(model)
  if (!split) {
    if (known.size >= mostKnown) known.clear()
    known.set(model, (split = parse(model)))
  }
  return split
}

function parse(model: string): ModelName {
  const slash = model.indexOf('/')
  if (slash < 0) return { provider: '_OTHER', model }
  const provider = model.slice(0, slash)
  return { provider: names[provider] ?? provider, model: model.slice(slash + 1) }
}
